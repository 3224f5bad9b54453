import type {
  AttributeTable,
  ClientValueType,
  FunctionLevel,
  FunctionTable,
  ModelTable,
  ResultType,
} from '../client/table.js';
import { isRecord, type JsonRecord } from '../client/errors.js';
import { isClientMember } from '../protocol/client-members.js';

/** The model as the session sees it, from the catalog (protocol P2.2). */
export interface ExplorerModel {
  readonly name: string;
  readonly dataclasses: ReadonlyMap<string, ExplorerDataclass>;
  /** Functions of the datastore. */
  readonly functions: readonly ExplorerFunction[];
  /** Functions of singletons, by the names of these. */
  readonly singletons: ReadonlyMap<string, readonly ExplorerFunction[]>;
}

/** A function that the session may call. */
export interface ExplorerFunction {
  readonly name: string;
  /** What it takes, as forms ask for it. */
  readonly params: readonly ExplorerAttribute[];
  readonly returns: ResultType;
}

export interface ExplorerDataclass {
  readonly name: string;
  /** Whether its entity sets can be followed. */
  readonly isLive: boolean;
  /** Name of the attribute that is the primary key; none if it is not exposed. */
  readonly key: string | undefined;
  readonly attributes: readonly ExplorerAttribute[];
  /** The attribute whose text names an entity for people. */
  readonly label: string | undefined;
  readonly functions: Readonly<Record<FunctionLevel, readonly ExplorerFunction[]>>;
}

export interface ExplorerAttribute {
  readonly name: string;
  /** How its values are shown; `one` and `many` are relations. */
  readonly kind: ValueKind;
  /** Dataclass of the entities of a relation. */
  readonly target?: string;
  /** The relation of the target that leads back, if the session sees it. */
  readonly inverse?: string | undefined;
  /** What happens to the entity of a to-one relation when the related one is deleted. */
  readonly onDelete?: OnDelete | undefined;
  /** Whether nobody can set it. */
  readonly isReadOnly: boolean;
  /** Whether it is the primary key, which only a new entity gets. */
  readonly isKey: boolean;
  /** Whether the server makes a number for a new entity. */
  readonly isSequence: boolean;
  readonly isMandatory: boolean;
  /** Whether no two entities have the same value. */
  readonly isUnique?: true;
  readonly rules: ValueRules;
}

export type OnDelete = 'restrict' | 'setNull' | 'cascade' | 'none';

/** What a value must comply with (protocol P2.10); the server checks it in any case. */
export interface ValueRules {
  readonly enum?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly maxLength?: number;
}

export type ValueKind =
  | 'text'
  | 'uuid'
  | 'number'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'day'
  | 'duration'
  | 'object'
  | 'image'
  | 'blob'
  | 'one'
  | 'many';

/** Whether an attribute has a value that a row of the grid can show. */
export function isValue({ kind }: ExplorerAttribute): boolean {
  return kind !== 'one' && kind !== 'many' && kind !== 'image' && kind !== 'blob';
}

/** The attributes along a path; `undefined` if it leads nowhere. */
export function attributesAt(
  { dataclasses }: ExplorerModel,
  dataclass: ExplorerDataclass,
  path: readonly string[],
): readonly ExplorerAttribute[] | undefined {
  const hops: ExplorerAttribute[] = [];
  let owner: ExplorerDataclass | undefined = dataclass;
  for (const name of path) {
    const found: ExplorerAttribute | undefined = owner?.attributes.find(
      (each) => each.name === name,
    );
    if (found === undefined) return undefined;
    hops.push(found);
    owner = dataclasses.get(found.target ?? '');
  }
  return hops;
}

/**
 * Reads an answer to `$catalog/$all`. What has the name of a member of every client is left out, since the client
 * cannot have it.
 */
export function modelOf(catalog: JsonRecord): ExplorerModel {
  const entries = recordsIn(catalog['dataClasses']).filter(
    ({ name }) => !isClientMember('datastore', String(name)),
  );
  const known = new Set(entries.map(({ name }) => String(name)));
  const collections = new Map(
    entries.map((each) => [String(each['collectionName']), String(each['name'])]),
  );
  const dataclasses = entries.map((entry) => dataclassOf(entry, collections, known));
  return {
    name: String(catalog['__NAME']),
    dataclasses: new Map(dataclasses.map((each) => [each.name, each])),
    functions: functionsIn(catalog['methods']).filter(
      ({ name }) => !isClientMember('datastore', name),
    ),
    singletons: new Map(
      recordsIn(catalog['singletons']).map(({ name, methods }) => [
        String(name),
        functionsIn(methods),
      ]),
    ),
  };
}

/** @param levels what `applyTo` says of the wanted ones; all if left out */
function functionsIn(value: unknown, levels?: readonly string[]): readonly ExplorerFunction[] {
  return recordsIn(value)
    .filter(({ applyTo }) => levels === undefined || levels.includes(String(applyTo)))
    .map(({ name, params, returns }) => ({
      name: String(name),
      params: recordsIn(params).map(parameterOf),
      returns: isRecord(returns) ? resultOf(returns) : 'plain',
    }));
}

/** A parameter, which is typed as a value of an attribute is; lists and selections as JSON. */
function parameterOf(entry: JsonRecord): ExplorerAttribute {
  const { name, type, optional, dataClass } = entry;
  const common = {
    name: String(name),
    isReadOnly: false,
    isKey: false,
    isSequence: false,
    isMandatory: optional !== true,
    rules: {},
  };
  if (type === 'entity' && typeof dataClass === 'string') {
    return { ...common, kind: 'one', target: dataClass };
  }
  const isJson = type === 'any' || type === 'list' || type === 'entitySelection';
  return { ...common, kind: isJson ? 'object' : valueKind(entry) };
}

function resultOf(entry: JsonRecord): ResultType {
  const { type, items, dataClass } = entry;
  if (type === 'void' || type === 'message') return type;
  if (type === 'list') return { list: isRecord(items) ? resultOf(items) : 'plain' };
  if (type === 'entity' || type === 'entitySelection') {
    if (typeof dataClass !== 'string') return 'plain';
    return type === 'entity' ? { entity: dataClass } : { selection: dataClass };
  }
  return clientType(valueKind(entry));
}

function dataclassOf(
  entry: JsonRecord,
  collections: ReadonlyMap<string, string>,
  known: ReadonlySet<string>,
): ExplorerDataclass {
  const [key] = recordsIn(entry['key']).map(({ name }) => String(name));
  const attributes = recordsIn(entry['attributes'])
    .map((each) => attributeOf(each, collections))
    // A session may see a relation to a dataclass that it does not see.
    .filter(({ target }) => target === undefined || known.has(target));
  const { methods } = entry;
  return {
    name: String(entry['name']),
    isLive: entry['live'] === true,
    key,
    attributes,
    label: labelOf(attributes, key),
    functions: {
      dataclass: functionsIn(methods, ['dataClass']),
      // A server for clients of Wakanda uses another word.
      selection: functionsIn(methods, ['entitySelection', 'entityCollection']).filter(
        (each) => !isClientMember('selection', each.name),
      ),
      entity: functionsIn(methods, ['entity']),
    },
  };
}

function attributeOf(
  entry: JsonRecord,
  collections: ReadonlyMap<string, string>,
): ExplorerAttribute {
  const { name, kind, behavior, type, readOnly, not_null: notNull, identifying, unique } = entry;
  const inverse = typeof entry['inverseName'] === 'string' ? entry['inverseName'] : undefined;
  const relation = kind === 'alias' ? behavior : kind;
  const common = {
    name: String(name),
    isReadOnly: readOnly === true,
    isKey: identifying === true,
    isSequence: entry['autosequence'] === true,
    // A catalog does not say whether the server makes the UUID of a new entity.
    isMandatory: notNull === true && !(identifying === true && type === 'uuid'),
    ...(unique === true ? ({ isUnique: true } as const) : {}),
    rules: rulesOf(entry),
  };
  if (relation === 'relatedEntity') {
    const onDelete = entry['onDelete'] as OnDelete | undefined;
    return { ...common, kind: 'one', target: String(type), inverse, onDelete };
  }
  if (relation === 'relatedEntities') {
    const target = collections.get(String(type)) ?? String(type);
    return { ...common, kind: 'many', target, inverse };
  }
  return { ...common, kind: valueKind(entry) };
}

function rulesOf(entry: JsonRecord): ValueRules {
  const { enum: values } = entry;
  const numbers = ['min', 'max', 'maxLength'].flatMap((name) => {
    const value = entry[name];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return {
    ...Object.fromEntries(numbers),
    ...(Array.isArray(values) ? { enum: values.map(String) } : {}),
  };
}

function valueKind({ type, scale, simpleDate }: JsonRecord): Exclude<ValueKind, 'one' | 'many'> {
  switch (type) {
    case 'bool':
      return 'boolean';
    case 'number':
    case 'long64':
      return 'number';
    case 'date':
      return simpleDate === true ? 'day' : 'date';
    case 'uuid':
    case 'duration':
    case 'object':
    case 'image':
    case 'blob':
      return type;
    default:
      return typeof scale === 'number' ? 'decimal' : 'text';
  }
}

/** Most models call it so; otherwise the first text says most. */
const labelNames = ['name', 'title', 'label', 'lastName', 'subject', 'code'];

function labelOf(
  attributes: readonly ExplorerAttribute[],
  key: string | undefined,
): string | undefined {
  const texts = attributes.filter(({ kind, name }) => kind === 'text' && name !== key);
  const named = labelNames.flatMap((name) => texts.find((each) => each.name === name) ?? []);
  return (named[0] ?? texts[0])?.name;
}

/** What the core of the typed client has to know of the model. */
export function clientTable(
  { dataclasses, functions: ofDatastore, singletons }: ExplorerModel,
  pageSize: number,
): ModelTable {
  const entries = [...dataclasses.values()].map(({ name, key, attributes, functions }) => {
    const keyKind = attributes.find((each) => each.name === key)?.kind;
    const table = {
      key: keyKind === 'number' ? 'number' : 'string',
      attributes: Object.fromEntries(attributes.map((each) => [each.name, attributeTable(each)])),
      functions: {
        dataclass: functionTable(functions.dataclass),
        selection: functionTable(functions.selection),
        entity: functionTable(functions.entity),
      },
    } as const;
    return [name, table] as const;
  });
  return {
    pageSize,
    dataclasses: Object.fromEntries(entries),
    functions: functionTable(ofDatastore),
    singletons: Object.fromEntries(
      [...singletons].map(([name, functions]) => [name, functionTable(functions)]),
    ),
  };
}

function functionTable(functions: readonly ExplorerFunction[]): FunctionTable {
  return Object.fromEntries(functions.map(({ name, returns }) => [name, returns]));
}

function attributeTable({ kind, target = '', isReadOnly }: ExplorerAttribute): AttributeTable {
  const readOnly = isReadOnly ? ({ readOnly: true } as const) : {};
  if (kind === 'one') return { one: target, ...readOnly };
  if (kind === 'many') return { many: target, ...readOnly };
  return { type: clientType(kind), ...readOnly };
}

function clientType(kind: Exclude<ValueKind, 'one' | 'many'>): ClientValueType {
  switch (kind) {
    case 'date':
    case 'day':
    case 'object':
    case 'image':
    case 'blob':
      return kind;
    case 'text':
    case 'uuid':
    case 'number':
    case 'decimal':
    case 'boolean':
    case 'duration':
      return 'plain';
  }
}

function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
