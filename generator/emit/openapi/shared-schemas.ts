import type { JsonObject } from '../../../runtime/protocol/opened-document.js';

/** A name as a part of the name of a component or an operation, which have letters of ASCII only. */
export function componentName(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/gu, (each) => `-${(each.codePointAt(0) ?? 0).toString(16)}-`);
}

export function reference(
  section: 'parameters' | 'requestBodies' | 'responses' | 'schemas',
  name: string,
): JsonObject {
  return { $ref: `#/components/${section}/${name}` };
}

/** A schema that is the same for every model. */
export function sharedRef(name: SharedSchema): JsonObject {
  return reference('schemas', `rest.${name}`);
}

/** The schema of a dataclass, or of something that is made of it. */
export function dataclassRef(
  { name }: { readonly name: string },
  part?:
    | 'Body'
    | 'Change'
    | 'Draft'
    | 'InArray'
    | 'Input'
    | 'New'
    | 'Page'
    | 'Pages'
    | 'Saved'
    | 'Values'
    | `New.${string}`,
): JsonObject {
  const parts = part === undefined ? [name] : [name, ...part.split('.')];
  return reference('schemas', parts.map(componentName).join('.'));
}

export function anyOf(...schemas: readonly JsonObject[]): JsonObject {
  const [first = {}] = schemas;
  return schemas.length === 1 ? first : { anyOf: schemas };
}

export function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

export const text: JsonObject = { type: 'string' };
export const integer: JsonObject = { type: 'integer' };
export const boolean: JsonObject = { type: 'boolean' };
export const nothing: JsonObject = { type: 'null' };

type SharedSchema =
  | 'Aggregates'
  | 'AnyChange'
  | 'AnyDraft'
  | 'AnyEntity'
  | 'AnyInArray'
  | 'AnyNew'
  | 'AnyPage'
  | 'Combined'
  | 'Count'
  | 'Deferred'
  | 'DeferredImage'
  | 'Distinct'
  | 'EntityArgument'
  | 'Error'
  | 'Errors'
  | 'Groups'
  | 'History'
  | 'Info'
  | 'Key'
  | 'Lock'
  | 'NoArguments'
  | 'Nothing'
  | 'Ok'
  | 'Params'
  | 'Related'
  | 'RelatedOrNull'
  | 'Report'
  | 'Result'
  | 'SelectionArgument'
  | 'Sent'
  | 'Status'
  | 'SomeEntity'
  | 'SomePages'
  | 'Stored'
  | 'Upload'
  | 'UploadReference';

export function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties,
    additionalProperties: false,
  };
}

/** What is recorded of changes; only for a model with audit. */
export const historySchema: JsonObject = object(
  {
    __entityModel: text,
    __COUNT: {
      ...integer,
      description: 'The number of all entries that match; missing with `$count=false`.',
    },
    __SENT: integer,
    __FIRST: integer,
    __ENTITIES: listOf(
      object(
        {
          position: { ...integer, description: 'Greater for a later change of an entity.' },
          time: { type: 'string', format: 'date-time' },
          key: text,
          kind: { type: 'string', enum: ['created', 'changed', 'deleted'] },
          user: { type: ['string', 'null'] },
          request: { type: ['string', 'null'], description: 'The ID of the request.' },
          before: { type: 'object', description: 'Values by attribute.' },
          after: { type: 'object', description: 'Values by attribute.' },
        },
        ['position', 'time', 'key', 'kind', 'user', 'request'],
      ),
    ),
  },
  ['__entityModel', '__SENT', '__FIRST', '__ENTITIES'],
);

const lockMembers: JsonObject = {
  lockKind: integer,
  lockKindText: text,
  lockInfo: object({ host: text, IPAddr: text, recordNumber: integer, userAgent: text }),
};

/** The members of an answered entity besides its attributes. */
const entityMembers: JsonObject = {
  __DATACLASS: text,
  __entityModel: text,
  __STATUS: sharedRef('Status'),
  uri: text,
  __KEY: text,
  __TIMESTAMP: { ...text, format: 'date-time' },
  __STAMP: {
    ...integer,
    description:
      'Send it back with a change: the server then refuses the change if another one came first.',
  },
  __ERROR: listOf(sharedRef('Error')),
};

const keyInBody: JsonObject = { type: ['string', 'integer'] };
const relatedInBody: readonly JsonObject[] = [
  keyInBody,
  { type: 'object', required: ['__KEY'], properties: { __KEY: keyInBody } },
];
const relatedDescription = 'The key of the related entity, alone or as its __KEY.';

export const sharedSchemas: Readonly<
  Record<Exclude<SharedSchema, 'History' | 'SomeEntity' | 'SomePages'>, JsonObject>
> = {
  Aggregates: {
    description:
      'What $compute answers: one value, or with $all one member that is named as the path in the address.',
    anyOf: [
      { type: ['number', 'string', 'boolean', 'null'] },
      {
        type: 'object',
        maxProperties: 1,
        additionalProperties: object({
          count: integer,
          sum: { type: ['number', 'string', 'null'] },
          average: { type: ['number', 'string', 'null'] },
          min: { type: ['number', 'string', 'boolean', 'null'] },
          max: { type: ['number', 'string', 'boolean', 'null'] },
        }),
      },
    ],
  },
  AnyChange: {
    description: 'Attributes that are not sent keep their values.',
    type: 'object',
    required: ['__STAMP'],
    properties: { __KEY: keyInBody, __STAMP: { ...integer, description: 'As it was read.' } },
  },
  AnyDraft: {
    description: 'An entity that a function returns; it may be unsaved.',
    type: 'object',
    properties: {
      ...entityMembers,
      __KEY: { type: ['string', 'null'] },
      __TIMESTAMP: { type: ['string', 'null'], format: 'date-time' },
    },
  },
  AnyEntity: {
    description: 'An entity with the attributes that the request names.',
    type: 'object',
    properties: entityMembers,
  },
  AnyInArray: {
    description: 'An entity in the bare list of $asArray.',
    type: 'object',
    properties: { __KEY: { type: 'object' }, __STAMP: integer },
  },
  AnyNew: {
    description: 'With __KEY, the new entity gets this key.',
    type: 'object',
    properties: { __KEY: keyInBody },
  },
  AnyPage: {
    type: 'object',
    properties: {
      __ENTITYSET: { ...text, description: 'The address of the new entity set.' },
      __DATACLASS: text,
      __GlobalStamp: integer,
      __COUNT: {
        ...integer,
        description: 'The number of all entities that match; missing with `$count=false`.',
      },
      __SENT: integer,
      __FIRST: { ...integer, description: 'Entities before the page; missing with `$after`.' },
      __NEXT: {
        type: ['string', 'null'],
        description: 'With `$cursor` or `$after`: the token of the next page, null at the end.',
      },
      __queryPlan: {},
      __queryPath: {},
    },
  },
  Combined: {
    description: 'What INTERSECT answers, or a release.',
    anyOf: [boolean, sharedRef('Ok')],
  },
  Count: object({ __COUNT: integer }),
  Deferred: {
    description: 'The address of a value that the answer does not contain.',
    ...object({ __deferred: object({ uri: text, __KEY: text }, ['uri']) }, ['__deferred']),
  },
  DeferredImage: {
    description: 'The address of the bytes of an image.',
    ...object({ __deferred: object({ uri: text, image: { const: true } }, ['uri', 'image']) }, [
      '__deferred',
    ]),
  },
  Distinct: {
    description: 'What $distinct answers.',
    ...listOf({ type: ['string', 'number', 'boolean'] }),
  },
  EntityArgument: {
    type: 'object',
    required: ['__DATACLASS', '__ENTITY'],
    properties: { __DATACLASS: text, __ENTITY: { const: true }, __KEY: {} },
  },
  Error: object(
    {
      message: text,
      componentSignature: text,
      errCode: integer,
      attribute: {
        ...text,
        description:
          'The attribute that the error is about; in a list, with its place: staff[3].name.',
      },
      extraDescription: { type: 'object' },
    },
    ['message', 'componentSignature', 'errCode'],
  ),
  Errors: object(
    {
      ok: { const: false },
      result: { const: false },
      __ERROR: listOf(sharedRef('Error')),
    },
    ['__ERROR'],
  ),
  Groups: {
    description: 'What $groupby answers. The members of a group are its keys and what is computed.',
    ...object(
      {
        __entityModel: text,
        __GlobalStamp: integer,
        __COUNT: {
          ...integer,
          description: 'The number of all groups; missing with `$count=false`.',
        },
        __SENT: integer,
        __FIRST: integer,
        __GROUPS: listOf({
          type: 'object',
          additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
        }),
        __queryPlan: {},
        __queryPath: {},
      },
      ['__entityModel', '__GlobalStamp', '__SENT', '__FIRST', '__GROUPS'],
    ),
  },
  Info: object(
    {
      cacheSize: integer,
      usedCache: integer,
      entitySetCount: integer,
      entitySet: listOf(
        object({
          id: text,
          dataClass: text,
          tableName: text,
          selectionSize: integer,
          sorted: boolean,
          refreshed: text,
          expires: text,
        }),
      ),
      ProgressInfo: listOf({}),
      sessionInfo: listOf(
        object({ sessionID: text, userName: text, lifeTime: integer, expiration: text }),
      ),
      privileges: object({ privileges: listOf(object({ privilege: text })) }),
    },
    ['entitySet', 'sessionInfo', 'privileges'],
  ),
  Key: object({ __KEY: { type: 'object' } }, ['__KEY']),
  Lock: object({ result: boolean, __STATUS: sharedRef('Status') }, ['result', '__STATUS']),
  NoArguments: anyOf({ type: 'array', maxItems: 0 }, sharedRef('Params')),
  Nothing: object({ result: nothing }, ['result']),
  Ok: object({ ok: { const: true }, changed: integer }, ['ok']),
  Params: {
    description: 'The list of arguments, as a member of an object.',
    type: 'object',
    required: ['params'],
    properties: { params: { type: 'array' } },
  },
  Related: { description: relatedDescription, anyOf: relatedInBody },
  RelatedOrNull: { description: relatedDescription, anyOf: [nothing, ...relatedInBody] },
  Report: object(
    {
      __COUNT: integer,
      __FIRST: integer,
      schema: { type: ['array', 'object'] },
      rows: listOf(
        object({ values: listOf({ type: ['string', 'number', 'boolean', 'null'] }) }, ['values']),
      ),
      filtersApplied: boolean,
    },
    ['schema', 'rows', 'filtersApplied'],
  ),
  Result: object({ result: {} }, ['result']),
  SelectionArgument: {
    type: 'object',
    required: ['__DATASET', '__ENTITIES'],
    properties: { __DATASET: text, __ENTITIES: { const: true } },
  },
  Sent: {
    description: 'An entity as the client sent it, if nothing was saved; with its errors, if any.',
    type: 'object',
    properties: { __ERROR: listOf(sharedRef('Error')) },
    not: { required: ['__entityModel'] },
  },
  Status: object({
    success: boolean,
    status: {
      ...integer,
      description:
        '1 no permission, 2 stamp has changed, 3 locked, 4 other error, 5 no longer there, 7 and 8 refused values.',
    },
    statusText: text,
    ...lockMembers,
  }),
  Stored: {
    description: 'A saved entity that the session may not read.',
    ...object({
      __entityModel: text,
      __STATUS: sharedRef('Status'),
      uri: text,
      __KEY: text,
      __STAMP: integer,
      __ERROR: listOf(sharedRef('Error')),
    }),
  },
  Upload: object({ ID: text }, ['ID']),
  UploadReference: {
    description: 'The ID in the answer to an upload.',
    type: 'object',
    required: ['ID'],
    properties: { ID: text },
  },
};
