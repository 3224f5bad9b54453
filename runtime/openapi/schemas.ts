import type { FunctionType, StorageType } from '../protocol/definition.js';
import type {
  DescribedAttribute,
  DescribedDataclass,
  DescribedModel,
  DescribedRelation,
  DescribedToMany,
  DescribedValue,
  ValueRules,
} from './described-model.js';

/** JSON of a document; members that are `undefined` are left out. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [name: string]: Json };

export type SchemaObject = { readonly [name: string]: Json };

/** A name as a part of the name of a component or an operation, which have letters of ASCII only. */
export function componentName(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/gu, (each) => `-${(each.codePointAt(0) ?? 0).toString(16)}-`);
}

function schemaRef(name: string): SchemaObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** A schema that is the same for every model. */
export function sharedRef(name: SharedSchema): SchemaObject {
  return schemaRef(`rest.${name}`);
}

/** The schema of a dataclass, or of something that is made of it. */
export function dataclassRef(
  { name }: { readonly name: string },
  part?: 'Page' | 'InArray' | 'Draft' | 'New' | 'Change' | `New.${string}`,
): SchemaObject {
  const parts = part === undefined ? [name] : [name, ...part.split('.')];
  return schemaRef(parts.map(componentName).join('.'));
}

export function anyOf(...schemas: readonly SchemaObject[]): SchemaObject {
  const [first = {}] = schemas;
  return schemas.length === 1 ? first : { anyOf: schemas };
}

export function listOf(items: SchemaObject): SchemaObject {
  return { type: 'array', items };
}

const text: SchemaObject = { type: 'string' };
const integer: SchemaObject = { type: 'integer' };
const boolean: SchemaObject = { type: 'boolean' };
const nothing: SchemaObject = { type: 'null' };

type SharedSchema =
  | 'Aggregates'
  | 'Deferred'
  | 'DeferredImage'
  | 'Distinct'
  | 'Error'
  | 'Errors'
  | 'Info'
  | 'Lock'
  | 'Ok'
  | 'Report'
  | 'Result'
  | 'Sent'
  | 'Status'
  | 'Stored'
  | 'Upload'
  | 'UploadReference';

function object(properties: SchemaObject, required: readonly string[] = []): SchemaObject {
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties,
    additionalProperties: false,
  };
}

const lockMembers: SchemaObject = {
  lockKind: integer,
  lockKindText: text,
  lockInfo: object({ host: text, IPAddr: text, recordNumber: integer, userAgent: text }),
};

export const sharedSchemas: Readonly<Record<SharedSchema, SchemaObject>> = {
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
      __ERROR: listOf(schemaRef('rest.Error')),
    },
    ['__ERROR'],
  ),
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
  Lock: object({ result: boolean, __STATUS: schemaRef('rest.Status') }, ['result', '__STATUS']),
  Ok: object({ ok: { const: true } }, ['ok']),
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
  Sent: {
    description: 'An entity as the client sent it, if nothing was saved; with its errors, if any.',
    type: 'object',
    properties: { __ERROR: listOf(schemaRef('rest.Error')) },
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
      __STATUS: schemaRef('rest.Status'),
      uri: text,
      __KEY: text,
      __STAMP: integer,
      __ERROR: listOf(schemaRef('rest.Error')),
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

/** The schemas of a dataclass, by the names of their components. */
export function dataclassSchemas(
  model: DescribedModel,
  dataclass: DescribedDataclass,
): SchemaObject {
  const { canRead, canCreate, canUpdate } = dataclass;
  const name = componentName(dataclass.name);
  const isReturned = canRead && functionsOf(model).some(({ returns }) => isOf(returns, dataclass));
  return {
    ...(canRead
      ? {
          [name]: entitySchema(model, dataclass, false),
          [`${name}.Page`]: pageSchema(dataclass),
          [`${name}.InArray`]: arraySchema(model, dataclass),
        }
      : {}),
    ...(isReturned ? { [`${name}.Draft`]: entitySchema(model, dataclass, true) } : {}),
    ...(canCreate ? { [`${name}.New`]: newSchema(model, dataclass) } : {}),
    ...Object.fromEntries(
      listsOf(model, dataclass).map(({ inverse }) => [
        `${name}.New.${componentName(inverse)}`,
        newSchema(model, dataclass, inverse),
      ]),
    ),
    ...(canUpdate ? { [`${name}.Change`]: changeSchema(model, dataclass) } : {}),
  };
}

function functionsOf({
  functions,
  singletons,
  dataclasses,
}: DescribedModel): DescribedModel['functions'] {
  return [
    ...functions,
    ...singletons.flatMap((each) => each.functions),
    ...dataclasses.flatMap((each) => Object.values(each.functions).flat()),
  ];
}

/** Whether a result contains entities of a dataclass that may be unsaved. */
function isOf(type: FunctionType, dataclass: { readonly name: string }): boolean {
  if (typeof type === 'string') return false;
  if ('list' in type) return isOf(type.list, dataclass);
  return 'entity' in type && type.entity === dataclass.name;
}

const ownMembers: SchemaObject = {
  __DATACLASS: text,
  __entityModel: text,
  __STATUS: schemaRef('rest.Status'),
  uri: text,
  __KEY: text,
  __TIMESTAMP: { ...text, format: 'date-time' },
  __STAMP: {
    ...integer,
    description:
      'Send it back with a change: the server then refuses the change if another one came first.',
  },
  __ERROR: listOf(schemaRef('rest.Error')),
};

function entitySchema(
  model: DescribedModel,
  { name, attributes }: DescribedDataclass,
  isDraft: boolean,
): SchemaObject {
  const read = attributes.filter(({ canRead }) => canRead);
  return {
    description: isDraft
      ? `An entity of ${name} that a function returns; it may be unsaved.`
      : `An entity of ${name}, with the attributes that the request names.`,
    ...object({
      ...ownMembers,
      ...(isDraft
        ? {
            __KEY: { type: ['string', 'null'] },
            __TIMESTAMP: { type: ['string', 'null'], format: 'date-time' },
          }
        : {}),
      ...propertiesOf(read, (each) => readSchema(model, each, isDraft)),
    }),
  };
}

function pageSchema(dataclass: DescribedDataclass): SchemaObject {
  const page = {
    __ENTITYSET: { ...text, description: 'The address of the new entity set.' },
    __DATACLASS: text,
    __entityModel: text,
    __GlobalStamp: integer,
    __COUNT: {
      ...integer,
      description: 'The number of all entities that match; missing with `$count=false`.',
    },
    __SENT: integer,
    __FIRST: integer,
    __ENTITIES: listOf(dataclassRef(dataclass)),
    __queryPlan: {},
    __queryPath: {},
  };
  return {
    description: `A page of entities of ${dataclass.name}.`,
    ...object(page, ['__ENTITIES']),
  };
}

function arraySchema(
  model: DescribedModel,
  { name, attributes }: DescribedDataclass,
): SchemaObject {
  const read = attributes.filter(({ canRead }) => canRead);
  return {
    description: `An entity of ${name} in the bare list of $asArray.`,
    ...object({
      __KEY: { type: 'object' },
      __STAMP: integer,
      ...propertiesOf(read, (each) => inArray(model, each)),
    }),
  };
}

function inArray(model: DescribedModel, attribute: DescribedAttribute): SchemaObject {
  const whole = (target: string): SchemaObject => dataclassRef({ name: target }, 'InArray');
  switch (attribute.kind) {
    case 'value':
      return readSchema(model, attribute, false);
    case 'toOne':
      return anyOf(
        nothing,
        object({ __KEY: { type: 'object' } }, ['__KEY']),
        whole(attribute.target),
      );
    case 'toMany':
      return anyOf(object({ __COUNT: integer }), listOf(whole(attribute.target)));
  }
}

function propertiesOf(
  attributes: readonly DescribedAttribute[],
  schema: (attribute: DescribedAttribute) => SchemaObject,
): SchemaObject {
  return Object.fromEntries(attributes.map((each) => [each.name, schema(each)]));
}

function readSchema(
  model: DescribedModel,
  attribute: DescribedAttribute,
  isDraft: boolean,
): SchemaObject {
  switch (attribute.kind) {
    case 'value': {
      const { type, dateOnly, rules, mandatory } = attribute;
      const value = answered(type, dateOnly ? model.dateOnlyFormat : undefined, rules);
      return mandatory && !isDraft ? value : nullable(value);
    }
    case 'toOne':
      return anyOf(nothing, sharedRef('Deferred'), dataclassRef({ name: attribute.target }));
    case 'toMany':
      return anyOf(sharedRef('Deferred'), dataclassRef({ name: attribute.target }, 'Page'));
  }
}

/** A value in an answer (protocol P4.4 to P4.14). */
function answered(
  type: StorageType,
  dateOnly: 'iso' | 'bang' | undefined,
  rules: ValueRules = {},
): SchemaObject {
  const listed = rules.enum === undefined ? {} : { enum: rules.enum };
  switch (type) {
    case 'string':
      return { ...text, ...listed };
    case 'uuid':
      return { ...text, pattern: '^[0-9A-F]{32}$', ...listed };
    case 'number':
      return { type: 'number', ...listed };
    case 'integer':
      return { ...integer, ...listed };
    case 'decimal':
      return { ...text, pattern: decimalPattern(rules), ...listed };
    case 'duration':
      return { ...integer, description: 'Milliseconds.', ...listed };
    case 'boolean':
      return boolean;
    case 'date':
      return { ...dateSchema(dateOnly), ...listed };
    case 'object':
      return { type: ['object', 'array'] };
    case 'vector':
      return listOf({ type: 'number' });
    case 'image':
      return sharedRef('DeferredImage');
    case 'blob':
      return sharedRef('Deferred');
  }
}

/** Without rules, that of a function's argument or result. */
function decimalPattern({ precision, scale }: ValueRules): string {
  if (precision === undefined || scale === undefined) return '^-?\\d+(\\.\\d+)?$';
  const whole = precision > scale ? `\\d{1,${precision - scale}}` : '0';
  return scale === 0 ? `^-?${whole}$` : `^-?${whole}\\.\\d{${scale}}$`;
}

/** More spellings than in an answer, and numbers. */
function sentDecimal({ precision, scale = 0 }: ValueRules): SchemaObject {
  const digits = precision === undefined ? '' : ` of at most ${precision} digits`;
  return {
    type: ['string', 'number'],
    description: `A decimal number${digits}, ${scale} of them decimals. A number must not have more than 15 digits.`,
  };
}

function dateSchema(dateOnly: 'iso' | 'bang' | undefined): SchemaObject {
  if (dateOnly === undefined) return { ...text, format: 'date-time' };
  return dateOnly === 'iso'
    ? { ...text, format: 'date' }
    : { ...text, pattern: '^\\d+!\\d+!\\d+$', description: 'Day, month and year: 9!3!2026.' };
}

function nullable(schema: SchemaObject): SchemaObject {
  const { type, enum: values } = schema;
  const types = [type ?? []].flat();
  if (types.length === 0) return anyOf(nothing, schema);
  return {
    ...schema,
    type: [...types.filter((each) => each !== 'null'), 'null'],
    ...(values === undefined ? {} : { enum: [values, null].flat() }),
  };
}

/** A to-many relation, which is no alias. */
type ListRelation = DescribedToMany & { readonly inverse: string };

function isList(each: DescribedAttribute): each is ListRelation {
  return each.kind === 'toMany' && each.inverse !== undefined;
}

/** The to-many relations in whose lists new entities of a dataclass may be sent. */
function listsOf(
  { dataclasses }: DescribedModel,
  { name }: DescribedDataclass,
): readonly ListRelation[] {
  return dataclasses
    .flatMap(({ attributes }) => attributes)
    .filter((each): each is ListRelation => isList(each) && each.target === name)
    .filter(({ canCreate, canUpdate }) => canCreate || canUpdate);
}

/** @param owner the relation to the entity in whose list it is sent */
function newSchema(
  model: DescribedModel,
  dataclass: DescribedDataclass,
  owner?: string,
): SchemaObject {
  const sent = dataclass.attributes.filter(({ canCreate, name }) => canCreate && name !== owner);
  const required = sent.filter((each) => each.required).map(({ name }) => name);
  const where = owner === undefined ? '' : ` in the list of its ${owner}`;
  return {
    description: `A new entity of ${dataclass.name}${where}. With __KEY it gets this key.`,
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: {
      __KEY: keySchema(dataclass.keyType),
      ...propertiesOf(sent, (each) => sentSchema(model, each)),
    },
  };
}

function changeSchema(model: DescribedModel, dataclass: DescribedDataclass): SchemaObject {
  const sent = dataclass.attributes.filter(({ canUpdate }) => canUpdate);
  return {
    description: `A change of an entity of ${dataclass.name}. Attributes that are not sent keep their values.`,
    type: 'object',
    required: ['__STAMP'],
    properties: {
      __KEY: keySchema(dataclass.keyType),
      __STAMP: { ...integer, description: 'As it was read.' },
      ...propertiesOf(sent, (each) => sentSchema(model, each)),
    },
  };
}

/** A key in a request. */
export function keySchema(type: StorageType): SchemaObject {
  return type === 'integer' || type === 'number' ? { type: ['string', 'integer'] } : text;
}

/** A value in a body, as the protocol writes it; other spellings are accepted, too. */
function sentSchema(model: DescribedModel, attribute: DescribedAttribute): SchemaObject {
  if (isList(attribute)) return listInBody(model, attribute);
  if (attribute.kind !== 'value') return relationInBody(attribute);
  const value = valueInBody(model, attribute);
  return attribute.mandatory ? value : nullable(value);
}

function relationInBody({ mandatory }: DescribedRelation): SchemaObject {
  const key = { type: ['string', 'integer'] };
  const entity = { type: 'object', required: ['__KEY'], properties: { __KEY: key } };
  return {
    description: 'The key of the related entity, alone or as its __KEY.',
    ...anyOf(...(mandatory ? [] : [nothing]), key, entity),
  };
}

function listInBody(model: DescribedModel, { target, inverse }: ListRelation): SchemaObject {
  const { canUpdate = false } = model.dataclasses.find(({ name }) => name === target) ?? {};
  const parts = [`New.${inverse}` as const, ...(canUpdate ? (['Change'] as const) : [])];
  return {
    description:
      'Entities to save with this one: all of them or none. Those that are not listed stay as they are.',
    ...listOf(anyOf(...parts.map((part) => dataclassRef({ name: target }, part)))),
    maxItems: model.batchSize,
  };
}

function valueInBody(
  model: DescribedModel,
  { type, dateOnly, rules }: DescribedValue,
): SchemaObject {
  if (type === 'image' || type === 'blob') return sharedRef('UploadReference');
  if (type === 'uuid') return text;
  const { min, max, minLength, maxLength, pattern, dimensions } = rules;
  if (type === 'decimal') return sentDecimal(rules);
  const ends = [
    ...(typeof min === 'string' ? [`not before ${min}`] : []),
    ...(typeof max === 'string' ? [`not after ${max}`] : []),
  ];
  return {
    ...answered(type, dateOnly ? model.dateOnlyFormat : undefined, rules),
    ...(typeof min === 'number' ? { minimum: min } : {}),
    ...(typeof max === 'number' ? { maximum: max } : {}),
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(dimensions === undefined ? {} : { minItems: dimensions, maxItems: dimensions }),
    ...(ends.length === 0 ? {} : { description: `A date ${ends.join(' and ')}.` }),
  };
}

/** The dataclasses that the reader of a document may read. */
export type Readable = ReadonlySet<string>;

/** The arguments of a function: a JSON list (protocol P11.6). */
export function argumentsSchema(
  params: DescribedModel['functions'][number]['params'],
): SchemaObject {
  const mandatory = params.filter(({ optional }) => !optional).length;
  const list = {
    description: params.map(({ name }) => name).join(', '),
    type: 'array',
    ...(params.length === 0 ? {} : { prefixItems: params.map(argument) }),
    minItems: mandatory,
    maxItems: params.length,
  };
  return anyOf(list, { type: 'object', required: ['params'], properties: { params: list } });
}

function argument({
  name,
  type,
  optional,
}: DescribedModel['functions'][number]['params'][number]): SchemaObject {
  const schema = argumentOf(type);
  const described = optional && Object.keys(schema).length > 0 ? nullable(schema) : schema;
  return { ...described, title: name };
}

/** An argument (protocol P11.7 to P11.11). */
function argumentOf(type: FunctionType): SchemaObject {
  if (typeof type !== 'string') {
    if ('list' in type) return listOf(argumentOf(type.list));
    return 'entity' in type
      ? {
          type: 'object',
          required: ['__DATACLASS', '__ENTITY'],
          properties: { __DATACLASS: text, __ENTITY: { const: true }, __KEY: {} },
        }
      : {
          type: 'object',
          required: ['__DATASET', '__ENTITIES'],
          properties: { __DATASET: text, __ENTITIES: { const: true } },
        };
  }
  if (type === 'any' || type === 'void' || type === 'message') return {};
  if (type === 'image' || type === 'blob') return sharedRef('UploadReference');
  if (type === 'uuid') return text;
  if (type === 'decimal') return { type: ['string', 'number'], description: 'A decimal number.' };
  return type === 'dateOnly' ? dateSchema('iso') : answered(type, undefined);
}

/** A plain result of a function, or a part of one (protocol P11.15 to P11.22). */
export function resultOf(
  type: FunctionType,
  readable: Readable,
  isMandatory: boolean,
): SchemaObject {
  const schema = resultSchema(type, readable, isMandatory);
  return isMandatory || Object.keys(schema).length === 0 ? schema : nullable(schema);
}

function resultSchema(type: FunctionType, readable: Readable, isMandatory: boolean): SchemaObject {
  if (typeof type !== 'string') {
    if ('list' in type) return listOf(resultOf(type.list, readable, isMandatory));
    if ('selection' in type) return {};
    return readable.has(type.entity) ? dataclassRef({ name: type.entity }, 'Draft') : {};
  }
  if (type === 'void') return nothing;
  if (type === 'uuid') return text;
  if (type === 'dateOnly') return dateSchema('iso');
  const isAnything = type === 'any' || type === 'message' || type === 'object';
  return isAnything || type === 'image' || type === 'blob' ? {} : answered(type, undefined);
}
