/** `await` would treat an object with a method of this name as a promise. */
const promise = ['then'];
const everyClass = ['constructor', 'ds', 'session'];

/** Members of the base class of entities. */
export const entityMembers: ReadonlySet<string> = new Set([
  ...everyClass,
  'save',
  'drop',
  'reload',
  'lock',
  'unlock',
  'key',
  'stamp',
  'isNew',
  'touched',
  'toObject',
  'fromObject',
]);

/**
 * Members of the base class of selections; relations of selections are members too, so they cannot
 * have these names.
 */
export const selectionMembers: ReadonlySet<string> = new Set([
  ...everyClass,
  'count',
  'first',
  'last',
  'at',
  'slice',
  'query',
  'orderBy',
  'and',
  'or',
  'minus',
  'contains',
  'sum',
  'average',
  'min',
  'max',
  'distinct',
  'groupBy',
  'toArray',
  'drop',
  'update',
  'add',
]);

export const dataclassMembers: ReadonlySet<string> = new Set([
  ...everyClass,
  'all',
  'get',
  'query',
  'new',
  'newSelection',
  'fromKeys',
  'upsert',
  'groupBy',
]);

/** Members of the datastore's class; dataclasses are members too, so they cannot have these names. */
export const datastoreMembers: ReadonlySet<string> = new Set([
  ...everyClass,
  'transaction',
  'afterCommit',
  'exclusive',
  'kysely',
]);

/** The member of the datastore's class that jobs add: only a model with jobs reserves its name. */
export const jobMember = 'enqueue';

/** Names that functions of each class cannot have. */
export const functionNames = {
  entity: new Set([...entityMembers, ...promise]),
  selection: new Set([...selectionMembers, ...promise]),
  dataclass: new Set([...dataclassMembers, ...promise]),
  datastore: new Set([...datastoreMembers, ...promise]),
  singleton: new Set([...everyClass, ...promise]),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>;

/** The protocol sends an entity's address under this name, and ignores it in a body. */
export const protocolNames: ReadonlySet<string> = new Set(['uri']);
