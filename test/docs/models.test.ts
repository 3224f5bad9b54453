import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkModel } from '../../generator/check/check-model.js';
import { limitRules } from '../../generator/source/limits.js';
import { modelSchema } from '../../generator/source/model.schema.js';
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
  return problems
    .filter(({ code }) => code !== 'roles/absent')
    .map(({ code, path, message }) => `${path} ${code}: ${message}`);
}

describe('a model of a guide', () => {
  it.each(blocksOf('yaml').map((block) => [placeOf(block), block] as const))(
    'is right: %s',
    (_place, block) => {
      expect(problemsOf(wholeModel(block))).toEqual([]);
    },
  );

  it('is found wrong when an attribute leads nowhere', () => {
    const text = 'owner: { to: Employe }\n';
    const block = { path: guide, line: 1, language: 'yaml', words: ['attributes'], text };
    expect(problemsOf(wholeModel(block))).toEqual([
      expect.stringContaining('relation/unknown-target'),
    ]);
  });
});

describe('the guide of the model file', () => {
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

  it('has an example of every key, but for those that editors of roles files leave behind', () => {
    const examples = blocksOf('yaml', guide)
      .map(({ text }) => text)
      .join('\n');
    const hasExample = (key: string): boolean => new RegExp(`(^|[ {])${key}:`, 'm').test(examples);
    expect(keys.filter((key) => !hasExample(key))).toEqual(['$schema', 'id']);
  });

  it('lists every limit with its default', () => {
    const rows = [...document.matchAll(/^\| `(\w+)` \| .* \| ([\d,]+|none)(?: \(.*\))? \|$/gm)].map(
      ([, name, value]) => [name, value === 'none' ? null : Number(value?.replaceAll(',', ''))],
    );
    const limits = Object.entries(limitRules).map(([name, rule]) => [name, rule.default]);
    expect(Object.fromEntries(rows)).toMatchObject(Object.fromEntries(limits));
  });
});

describe('the guide of databases', () => {
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

  it('does not list others', () => {
    expect(functions.length).toBeGreaterThan(30);
    expect(calls.some((call) => isPortable('printf', call))).toBe(false);
  });
});
