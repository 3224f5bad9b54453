import type { Model } from './model.js';

/** Version of what a serialised model looks like. */
const version = 1;

/**
 * The model as JSON that is the same, byte for byte, for equal models: keys in code-point order, lists in model order, two
 * spaces, a line end at the end. What `inspect --json` prints and `model.lock.json` holds.
 */
export function serializeModel(model: Model): string {
  return `${JSON.stringify(sorted({ ...model, drs: version }), undefined, 2)}\n`;
}

/** A serialised model, or what is wrong with the text. */
export type ParsedModel = { readonly model: Model } | { readonly problem: string };

/** Reads what {@link serializeModel} has written, maybe by another version of drs-gen. */
export function parseModel(text: string): ParsedModel {
  let value: unknown;
  try {
    value = JSON.parse(text, renamed);
  } catch (error) {
    return { problem: `it is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (!isRecord(value)) return { problem: 'it holds no model' };
  const { drs = version, ...model } = value;
  if (drs !== version) {
    const found = typeof drs === 'number' ? `has the version ${String(drs)}` : 'has no version';
    return { problem: `it ${found}, and this drs-gen reads ${String(version)}` };
  }
  return isModel(model) ? { model } : { problem: 'it holds no model' };
}

/** Computed attributes were called calculated ones at first. */
function renamed(_: string, value: unknown): unknown {
  const isOld = isRecord(value) && value['kind'] === 'calculated' && 'accessors' in value;
  return isOld ? { ...value, kind: 'computed' } : value;
}

/** Nobody edits a lock, so only the parts that a comparison needs are checked. */
function isModel(value: object): value is Model {
  const { name, databases, limits, protocol, dataclasses, functions, singletons, roles } =
    value as Readonly<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    Array.isArray(databases) &&
    isRecord(limits) &&
    isRecord(protocol) &&
    isListOf(dataclasses, isDataclass) &&
    isListOf(functions, isFunction) &&
    isListOf(singletons, (each) => isNamed(each) && isListOf(each['functions'], isFunction)) &&
    (roles === undefined || isRoles(roles))
  );
}

function isDataclass(value: unknown): boolean {
  if (!isNamed(value)) return false;
  const { table, key, attributes, events, indexes, uniqueIndexes = [], functions } = value;
  const isSound =
    typeof table === 'string' &&
    typeof key === 'string' &&
    Array.isArray(events) &&
    isListOf(indexes, Array.isArray) &&
    isListOf(uniqueIndexes, Array.isArray) &&
    isListOf(attributes, isAttribute);
  if (!isSound || !isRecord(functions)) return false;
  const levels = ['dataclass', 'selection', 'entity'];
  return levels.every((level) => isListOf(functions[level], isFunction));
}

/** What each kind of attribute has at least. */
const attributeKeys: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  storage: [
    ['type', 'string'],
    ['column', 'string'],
  ],
  relatedEntity: [
    ['target', 'string'],
    ['foreignKey', 'string'],
  ],
  relatedEntities: [['target', 'string']],
  computed: [
    ['type', 'string'],
    ['accessors', 'object'],
  ],
  aggregate: [
    ['type', 'string'],
    ['aggregate', 'string'],
    ['path', 'object'],
  ],
  alias: [['path', 'object']],
  relationAlias: [
    ['path', 'object'],
    ['target', 'string'],
  ],
};

function isAttribute(value: unknown): boolean {
  if (!isNamed(value) || typeof value['kind'] !== 'string') return false;
  const keys = Object.hasOwn(attributeKeys, value['kind'])
    ? attributeKeys[value['kind']]
    : undefined;
  return keys?.every(([key, type]) => typeof value[key] === type) === true;
}

function isFunction(value: unknown): boolean {
  return isNamed(value) && isListOf(value['params'], isNamed) && isRecord(value['returns']);
}

function isRoles(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { privileges, roles } = value;
  return (
    isListOf(privileges, (each) => isNamed(each) && Array.isArray(each['includes'])) &&
    isListOf(roles, (each) => isNamed(each) && Array.isArray(each['privileges']))
  );
}

function isNamed(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value) || typeof value['name'] !== 'string') return false;
  const { renamedFrom } = value;
  return renamedFrom === undefined || isListOf(renamedFrom, (each) => typeof each === 'string');
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A copy whose keys are in code-point order; JSON.stringify keeps that order, except for keys that
 * are whole numbers.
 */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  // A null prototype keeps a key such as __proto__ of a default value an ordinary key.
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, each] of entries) copy[key] = sorted(each);
  return copy;
}
