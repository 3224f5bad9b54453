import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkModel } from '../../generator/check/check-model.js';
import { limitRules } from '../../generator/source/limits.js';
import { modelSchema } from '../../generator/source/model.schema.js';
import type { JsonSchema } from '../../generator/source/schema/json-schema.js';
import { blocksOf, placeOf, readDocument, type Block } from './guides.js';

type Tree = Readonly<Record<string, unknown>>;

const guide = 'generator/docs/model.md';

/** The model that fragments belong to: the first one of the guide. */
const [first] = blocksOf('yaml', guide);

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The model that a block is a part of. */
function wholeModel({ words: [part], text }: Block): string {
  const fragment: unknown = parse(text);
  if (!isTree(fragment)) throw new Error('This is no mapping.');
  switch (part) {
    case undefined:
    case 'story':
      return text;
    case 'top':
      return added(fragment);
    case 'dataclasses':
      return added({ dataclasses: fragment });
    case 'attributes':
      return added({ dataclasses: { Example: { attributes: withKey(fragment) } } });
    default:
      throw new Error(`${part} is no part of a model: use top, dataclasses or attributes.`);
  }
}

function withKey(attributes: Tree): Tree {
  return { exampleID: { type: 'integer', key: true }, ...attributes };
}

function added(fragment: Tree): string {
  return stringify(merged(parse(first?.text ?? '') as Tree, fragment));
}

function merged(one: Tree, other: Tree): Tree {
  const both = Object.entries(other).map(([key, value]) => {
    const before = one[key];
    return [key, isTree(before) && isTree(value) ? merged(before, value) : value];
  });
  return { ...one, ...(Object.fromEntries(both) as Tree) };
}

function problemsOf(text: string): readonly string[] {
  const readBeside = (path: string): string | undefined =>
    path === 'roles.json' ? '{ "privileges": [{ "privilege": "viewStaff" }] }' : undefined;
  const { problems } = checkModel({ file: 'model.yaml', text, readBeside });
  return (
    problems
      // A fragment leaves out roles and permissions.
      .filter(({ code }) => code !== 'roles/absent' && code !== 'roles/unreachable')
      .map(({ code, path, message }) => `${path} ${code}: ${message}`)
  );
}

describe('A model in a guide', () => {
  it.each(blocksOf('yaml').map((block) => [placeOf(block), block] as const))(
    'has no problems: %s',
    (_place, block) => {
      expect(problemsOf(wholeModel(block))).toEqual([]);
    },
  );

  it('is reported when an attribute names no dataclass', () => {
    const text = 'owner: { to: Employe }\n';
    const block = { path: guide, line: 1, language: 'yaml', words: ['attributes'], text };
    expect(problemsOf(wholeModel(block))).toEqual([
      expect.stringContaining('relation/unknown-target'),
    ]);
  });
});

/** The keys of a schema: each after its definition and the keys that contain it. */
function placesOf(
  schema: JsonSchema,
  path: string,
  visited: Set<string> = new Set(),
): readonly string[] {
  const name = schema.$ref?.replace('#/definitions/', '');
  if (name !== undefined) {
    if (visited.has(name)) return [];
    visited.add(name);
    return placesOf(resolved(schema), name, visited);
  }
  const { items, additionalProperties, anyOf = [], properties = {} } = schema;
  return [
    ...anyOf.flatMap((each) => placesOf(each, path, visited)),
    ...(items === undefined ? [] : placesOf(items, `${path}[]`, visited)),
    ...(isTree(additionalProperties) ? placesOf(additionalProperties, path, visited) : []),
    ...Object.entries(properties).flatMap(([key, each]) => [
      `${path}.${key}`,
      ...placesOf(each, `${path}.${key}`, visited),
    ]),
  ];
}

/** The keys of a model, named in the same way. */
function placesIn(value: unknown, schema: JsonSchema, path: string): readonly string[] {
  const { $ref, anyOf, items, additionalProperties, properties = {} } = schema;
  if ($ref !== undefined) {
    return placesIn(value, resolved(schema), $ref.replace('#/definitions/', ''));
  }
  if (anyOf !== undefined) {
    const fitting = anyOf.find((each) => isFitting(value, each));
    if (fitting === undefined) throw new Error(`${path}: ${JSON.stringify(value)} fits nothing.`);
    return placesIn(value, fitting, path);
  }
  if (Array.isArray(value)) {
    return value.flatMap((each) => placesIn(each, items ?? {}, `${path}[]`));
  }
  if (!isTree(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    if (isTree(additionalProperties)) return placesIn(each, additionalProperties, path);
    return [`${path}.${key}`, ...placesIn(each, properties[key] ?? {}, `${path}.${key}`)];
  });
}

/** Whether a value is of one of several kinds, judged by its keys. */
function isFitting(value: unknown, schema: JsonSchema): boolean {
  const { anyOf, type, enum: values, properties = {}, required = [] } = resolved(schema);
  if (anyOf !== undefined) return anyOf.some((each) => isFitting(value, each));
  if (Array.isArray(value)) return type === 'array';
  if (!isTree(value)) return values?.includes(value) ?? type === typeof value;
  return (
    type === 'object' &&
    required.every((key) => key in value) &&
    Object.entries(value).every(([key, each]) => {
      const { const: only } = properties[key] ?? { const: nothing };
      return only === undefined || only === each;
    })
  );
}

/** No value has this form. */
const nothing = Symbol('nothing');

function resolved(schema: JsonSchema): JsonSchema {
  const name = schema.$ref?.replace('#/definitions/', '');
  return name === undefined ? schema : (modelSchema.definitions[name] ?? schema);
}

describe('The guide of the model file', () => {
  const { definitions, ...top } = modelSchema;
  const keys = [
    ...new Set(
      [top, ...Object.values(definitions)].flatMap(({ properties = {} }) =>
        Object.keys(properties),
      ),
    ),
  ];
  const document = readDocument(guide);

  it('names every key', () => {
    const isNamed = (key: string): boolean =>
      new RegExp(`\`([^\`\\n]*[ {])?${key.replace('$', '\\$')}\\b[^\`\\n]*\``).test(document);
    expect(keys.filter((key) => !isNamed(key))).toEqual([]);
  });

  it('has an example of every key in each place that allows it', () => {
    const known = placesOf(modelSchema, 'model');
    const shownPlaces = blocksOf('yaml', guide).flatMap((block) =>
      placesIn(parse(wholeModel(block)), modelSchema, 'model'),
    );
    const without = known.filter((place) => !shownPlaces.includes(place));
    const meaningless = [
      'permission.id',
      'roles.$schema',
      'roles.privileges[].id',
      'roles.roles[].id',
    ];
    // `many: false` is the default.
    expect(without.sort()).toEqual([...meaningless, 'toOneAttribute.many']);
  });

  it('lists every limit with its default', () => {
    const rows = [...document.matchAll(/^\| `(\w+)` \| .* \| ([\d,]+|none)(?: \(.*\))? \|$/gm)].map(
      ([, name, value]) => [name, value === 'none' ? null : Number(value?.replaceAll(',', ''))],
    );
    const limits = Object.entries(limitRules).map(([name, rule]) => [name, rule.default]);
    expect(Object.fromEntries(rows)).toMatchObject(Object.fromEntries(limits));
  });
});

describe('The guide of databases', () => {
  const text = readDocument('runtime/docs/databases.md');
  const [, list = ''] = /- the functions ([\s\S]*?)\.\n/.exec(text) ?? [];
  const functions = [...list.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  const values = ['name', 'net', 'day', "'%Y'", 'net > 1'];
  const calls = values.flatMap((one) => [
    [one],
    ...values.flatMap((two) => [[one, two], ...values.map((three) => [one, two, three])]),
  ]);

  function isPortable(name: string, call: readonly string[]): boolean {
    const computed = ['string', 'number'].map(
      (type) =>
        `label: { computed: ${type}, expression: ${JSON.stringify(`${name}(${call.join(', ')})`)} }`,
    );
    return computed.some((attribute) => problemsOf(postgresModel(attribute)).length === 0);
  }

  function postgresModel(attribute: string): string {
    return `
drs: 1
name: portable
database: [sqlite, postgres]
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      name: string
      net: number
      day: date
      ${attribute}
`;
  }

  it.each(functions)('lists a function that works on PostgreSQL: %s', (name) => {
    expect(calls.some((call) => isPortable(name, call))).toBe(true);
  });

  it('lists no function that fails on PostgreSQL', () => {
    expect(functions.length).toBeGreaterThan(30);
    expect(calls.some((call) => isPortable('printf', call))).toBe(false);
  });
});
