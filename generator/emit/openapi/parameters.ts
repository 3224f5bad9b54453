import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import type { Model } from '../../model/model.js';
import type { Parts } from './operation.js';
import { reference, text } from './shared-schemas.js';

const parameterTexts = {
  after: ['The `__NEXT` of the page before: the page behind it.', text],
  asArray: ['A bare list of entities.', { type: 'boolean' }],
  atMost: ['How many entities a change by filter may reach.', { type: 'integer', minimum: 0 }],
  atomic: ['Save all entities of the list, or none.', { type: 'boolean' }],
  attributes: ['Attributes and paths with commas between them, `*` for all.', text],
  binary: ['The bytes of a BLOB; of an upload: it is a BLOB.', { type: 'boolean' }],
  clean: ['Leave out deleted entities.', { type: 'boolean' }],
  compute: [
    'Aggregate the values of the path in the address: `$all`, `count`, `sum`, `average`, `min` or `max`. With $groupby, what to compute for each group: `count,sum(salary)`.',
    text,
  ],
  count: [
    '`false` leaves the numbers of entities out, which costs nothing then.',
    { type: 'boolean' },
  ],
  cursor: ['Add `__NEXT`, the value of $after for the next page.', { type: 'boolean' }],
  distinct: ['The distinct values of the path in the address.', { type: 'boolean' }],
  expand: [
    'Related entities to include, with commas between the paths: `employer,staff($orderby=lastName;$top=3)`.',
    text,
  ],
  filter: ['Which entities: `"name begin a and city = :1"`.', text],
  groupby: [
    'Answer groups of entities instead: paths with commas between them, of dates also a part such as `hiredAt:month`.',
    text,
  ],
  having: ['Which groups: `"count > 3 and sum(salary) >= :1"`.', text],
  imageformat: ['Convert the image.', text],
  lock: ['Lock the entity for the session, or unlock it.', { type: 'boolean' }],
  logicOperator: [
    'Combine the set with that of $otherCollection.',
    { type: 'string', enum: ['AND', 'OR', 'EXCEPT', 'INTERSECT'] },
  ],
  orderby: [
    'Paths with commas between them, each with `asc` or `desc`; with $groupby also `count`, `sum(salary)`.',
    text,
  ],
  otherCollection: ['The ID of another set.', text],
  params: [
    'JSON: values of placeholders of $filter and $having, or arguments of a function.',
    text,
  ],
  querypath: ['Add what each part of the filter finds.', { type: 'boolean' }],
  queryplan: ['Add how the database answers the filter.', { type: 'boolean' }],
  rawPict: ['`true`, or the content type of the image in the body.', text],
  refresh: ['Answer what the entities would become, and save nothing.', { type: 'boolean' }],
  savedfilter: ['`true` to keep the filter with the set, or the filter of the set.', text],
  savedorderby: ['The same for the order.', text],
  skip: ['Entities before the page.', { type: 'integer', minimum: 0 }],
  subOrderby: ['The order of the set of related entities.', text],
  timeout: ['The lifetime of the set or the upload, in seconds.', { type: 'integer', minimum: 0 }],
  upsert: ['The unique attribute by which entities are found: others are created.', text],
  version: ['The stamp of the entity: the bytes may be cached.', text],
} as const satisfies Readonly<Record<string, readonly [string, JsonObject]>>;

/** Parameters in the path of an address. */
const pathParameters = {
  attribute: text,
  attributes: text,
  dataclass: text,
  key: { type: ['string', 'integer'] },
  names: text,
  set: text,
  value: text,
} as const satisfies Readonly<Record<string, JsonObject>>;

/** The values of `$method` at the addresses of entities and sets. */
const methods = {
  entityset: ['entityset'],
  related: ['entityset', 'subentityset'],
  set: ['entityset', 'subentityset', 'release'],
} as const;

type QueryParameter = keyof typeof parameterTexts | 'format' | 'top';

/** The parameters of a document, by the names of their components. */
export function sharedParameters({ reportFormat, limits }: Model): JsonObject {
  const inQuery = (name: string, parameter: JsonObject): [string, JsonObject] => [
    name,
    { name: `$${name}`, in: 'query', ...parameter },
  ];
  return Object.fromEntries([
    ...Object.entries(parameterTexts).map(([name, [description, schema]]) =>
      inQuery(name, { description, schema }),
    ),
    inQuery('format', {
      description: 'A report instead of entities.',
      schema: { type: 'string', enum: ['json', reportFormat] },
    }),
    inQuery('top', {
      description: 'Entities of the page; 0 only counts.',
      schema: {
        type: 'integer',
        minimum: 0,
        maximum: limits.maxPageSize,
        'x-limits': { maximum: 'maxPageSize' },
      },
    }),
    [
      'ifMatch',
      {
        name: 'If-Match',
        in: 'header',
        description:
          'The stamp that the entity must have, in double quotes; `*` if it only must exist.',
        schema: { type: 'string', pattern: '^("[0-9]+"|\\*)$' },
      },
    ],
    [
      'ifNoneMatch',
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'The ETag of an earlier answer: 304 if the answer would be the same.',
        schema: { type: 'string' },
      },
    ],
    ...Object.entries(pathParameters).map(([name, schema]): [string, JsonObject] => [
      `path.${name}`,
      { name, in: 'path', required: true, schema },
    ]),
    ...Object.entries(methods).flatMap(([name, values]): [string, JsonObject][] => [
      [`method.${name}`, methodOf(values)],
      [`method.${name}.required`, { ...methodOf(values), required: true }],
    ]),
  ]);
}

/** `$method` with some values. */
function methodOf(values: readonly string[]): JsonObject {
  return { name: '$method', in: 'query', schema: { type: 'string', enum: values } };
}

/**
 * `$method` with those of the values that the reader may use of a dataclass, or of any (`*`).
 * @param required whether a request without one of them is an error
 */
export function methodFor(
  dataclass: string,
  values: readonly string[],
  required: boolean,
): JsonObject {
  const { schema, ...parameter } = methodOf(values);
  return {
    ...parameter,
    ...(required ? { required } : {}),
    schema: { ...(schema as JsonObject), 'x-each-for': { enum: `method ${dataclass}` } },
  };
}

export function method(name: keyof typeof methods, required = false): JsonObject {
  return reference('parameters', `method.${name}${required ? '.required' : ''}`);
}

export function inPath(...names: readonly (keyof typeof pathParameters)[]): readonly JsonObject[] {
  return names.map((name) => reference('parameters', `path.${name}`));
}

/** `If-Match`, for readers to whom a part of the model is open. */
export function ifMatchFor(part: Parts): JsonObject {
  return { ...reference('parameters', 'ifMatch'), 'x-for': part };
}

/** Parameters of the query, by their names without `$`. */
export function inQuery(...names: readonly QueryParameter[]): readonly JsonObject[] {
  return names.map((name) => reference('parameters', name));
}

/** Parameters of the query, for readers to whom a part of the model is open. */
export function inQueryFor(
  part: Parts,
  ...names: readonly QueryParameter[]
): readonly JsonObject[] {
  return inQuery(...names).map((each) => ({ ...each, 'x-for': part }));
}

export const choosing = ['filter', 'params', 'orderby', 'skip', 'top', 'count'] as const;
export const showing = ['attributes', 'expand'] as const;
export const planning = ['queryplan', 'querypath'] as const;
/** The beginning of a page, without a set. */
export const continuing = ['cursor', 'after'] as const;
export const forming = ['asArray', 'format'] as const;
export const saving = ['timeout', 'savedfilter', 'savedorderby'] as const;
export const combining = ['logicOperator', 'otherCollection', 'clean'] as const;
export const aggregating = ['compute', 'distinct'] as const;
export const grouping = ['groupby', 'compute', 'having'] as const;
