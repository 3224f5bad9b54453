import { sql } from 'kysely';
import { From, keyColumn, selecting } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Executor } from '../dialect/executor.js';
import type { AnswerOptions } from '../query/context.js';
import type { OrderItem } from '../query/order-by.js';
import type { ReadingContext } from '../query/reading-context.js';
import { isOrdered, selectionOrder } from '../query/page.js';
import {
  chosenEntities,
  ifBaseExists,
  selectionStatement,
  queryContext,
  type Selection,
  type SelectionStatement,
} from '../query/selection.js';
import {
  orderOf,
  boundStatement,
  type SelectionRequest,
  shapeName,
  selectionRequest,
  resolved,
} from '../query/selection-request.js';
import {
  compactNumbers,
  isKeyOf,
  type KeyList,
  type KeyType,
  NumberKeys,
  TextKeys,
  and,
  or,
} from './key-list.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Parameters } from '../query/parameters.js';

/** The part of {@link ReadingContext} that {@link readKeys} needs. */
interface KeysContext extends Pick<ReadingContext, 'options' | 'statements' | 'computed'> {
  readonly database: {
    readonly dialect: Dialect;
    readonly executor: Pick<Executor, 'read'>;
  };
}

/**
 * Reads the keys of all entities of a selection, in its order.
 * @returns `undefined` if the entity whose relation is read does not exist
 */
export async function readKeys(
  context: KeysContext,
  unresolved: SelectionRequest,
): Promise<KeyList | undefined> {
  const { database, options, statements } = context;
  const shape = shapeName(['keys', unresolved.orderBy]);
  const request = await resolved(context, unresolved, shape);
  const name = shapeName(['keys', request.orderBy]);
  const { statement, values } = boundStatement(statements, request, name, {}, (selection) =>
    keysStatement(database.dialect, options, selection, orderOf(request)),
  );
  const list = await database.executor.read(statement, values);
  if (list === undefined) return undefined;
  const type = request.dataclass.key.type as KeyType;
  const keys = parseKeys(type, typeof list === 'string' ? Buffer.from(list) : list);
  const isSorted = request.orderBy !== undefined || isOrdered(request, []);
  // A database takes several times as long to sort a million numbers.
  return isSorted || !(keys instanceof NumberKeys) ? keys : keys.ascending();
}

/** Returns the keys of a selection as bytes, for `parseKeys`. */
function keysStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  order: readonly OrderItem[],
): SelectionStatement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  // Without an order, an index that covers the filter is enough, and numbers are sorted afterwards.
  const { type } = selection.dataclass.key;
  const isSortedLater = !isOrdered(selection, order) && (type === 'integer' || type === 'number');
  const sorted = isSortedLater ? undefined : selectionOrder(context, from, selection, order);
  const chosen = context.aliases.next();
  const key = sql`${sql.id(chosen, 'key')}`;
  const list =
    type === 'string' || type === 'uuid'
      ? dialect.concat(['[', dialect.joinRows(dialect.jsonText(key)), ']'])
      : sql`coalesce(${dialect.joinRows(key)}, '')`;
  const entities = from.complete(query, condition);
  const ordered = sorted === undefined ? entities : entities.orderBy(sorted);
  const keys = sql`${selecting(ordered, sql`${keyColumn(from.root)} as "key"`)}`;
  const bytes = sql`(select ${dialect.asBytes(list)} from ${keys} as ${sql.id(chosen)})`;
  return selectionStatement(context, sql`select ${ifBaseExists(context, selection, bytes)}`);
}

/**
 * The keys that a database returns in one value:
 *
 * - `integer`, `number`: decimal numbers with commas between, `group_concat(key, ',')`;
 * - `uuid`, `string`: a JSON array of strings; a UUID has 32 upper-case hexadecimal digits.
 *
 * Each key appears once. The bytes may be reused afterwards.
 *
 * @param value `undefined` or empty if there are no keys
 * @throws Error if the value is anything else: a database that holds keys of another type, integers
 * beyond 2^53
 */
export function parseKeys(type: KeyType, value: Uint8Array = new Uint8Array()): KeyList {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const integers = type === 'integer' ? shortIntegers(bytes) : undefined;
  if (integers !== undefined) return new NumberKeys('integer', integers);
  const keys = keysInJson(type, bytes);
  const wrong = keys.findIndex((key) => !isKeyOf(type, key));
  if (wrong !== -1) throw badKeys(type, JSON.stringify(keys[wrong]));
  if (type === 'uuid' || type === 'string') return new TextKeys(type, keys as readonly string[]);
  // Adding 0 makes a positive zero of a negative one.
  return compactNumbers(type, Float64Array.from((keys as readonly number[]).map((key) => key + 0)));
}

/** The keys that a database returned break the model, which the server cannot repair. */
function badKeys(type: KeyType, reason: string): Error {
  return new Error(`the database gave primary keys that are not of type ${type}: ${reason}`);
}

/**
 * Reads bytes, since sets of integers are large and `JSON.parse` takes several times as long.
 *
 * @returns `undefined` if a key is no digits, or is above 2^32-1
 */
function shortIntegers(bytes: Uint8Array): Uint32Array | undefined {
  // A key takes at least two bytes; memory that is never written costs nothing.
  const values = new Uint32Array((bytes.length + 1) >>> 1);
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    let value = 0;
    const start = at;
    for (; at < bytes.length && bytes[at] !== comma; at += 1) {
      const digit = (bytes[at] as number) - 0x30;
      if (digit < 0 || digit > 9) return undefined;
      value = value * 10 + digit;
    }
    if (at === start || value > 0xff_ff_ff_ff) return undefined;
    values[count] = value;
    count += 1;
  }
  return bytes.at(-1) === comma ? undefined : values.slice(0, count);
}

const comma = 0x2c;

function keysInJson(type: KeyType, bytes: Buffer): readonly unknown[] {
  const text = bytes.toString('utf8');
  const isArray = type === 'uuid' || type === 'string';
  try {
    const keys: unknown = JSON.parse(isArray && text !== '' ? text : `[${text}]`);
    if (Array.isArray(keys)) return keys;
  } catch (cause) {
    throw badKeys(type, (cause as Error).message);
  }
  throw badKeys(type, 'the value is no JSON array');
}

/** So many keys are passed to the database, however many entities there are. */
const fewKeys = 5_000;

/** Reading a key that is passed costs the database as much as scanning that many entities. */
const entitiesPerKey = 30;

/**
 * What `$filter` and `$clean` leave of a set's keys, in the order of `$orderby` or else in the
 * set's own. Entities that were deleted match no filter; in an order they come last. So do those that
 * `restrict` hides, so that nobody can distinguish them.
 */
export async function narrowed(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
  parameters: Pick<Parameters, 'filter' | 'params' | 'orderby' | 'clean'>,
): Promise<KeyList> {
  const { filter, orderby, clean } = parameters;
  const isWhole = filter === undefined && !clean;
  if (isWhole && orderby === undefined) return keys;
  const small = await isSmall(context, dataclass, keys);
  const request = small
    ? membersRequest(context, dataclass, keys, parameters)
    : selectionRequest(context.filters, dataclass, { kind: 'all' }, null, parameters);
  // Only a relation of a missing entity has no keys.
  const found = (await readKeys(context, request)) as KeyList;
  if (request.orderBy === undefined) return and(keys, found);
  const ordered = small ? found : and(found, keys);
  return isWhole ? or(ordered, keys) : ordered;
}

/** The members of a set as a selection. */
export function membersRequest(
  { filters }: Pick<ReadingContext, 'filters'>,
  dataclass: Dataclass,
  keys: KeyList,
  texts: Pick<Parameters, 'filter' | 'params' | 'orderby'>,
): ReturnType<typeof selectionRequest> {
  const list = keys.page(0, keys.length);
  return selectionRequest(filters, dataclass, { kind: 'members' }, list, texts);
}

/** Whether it costs less to look up every key than to scan all entities of the dataclass. */
async function isSmall(
  { filters, counts }: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
): Promise<boolean> {
  if (keys.length <= fewKeys) return true;
  const nothing = { filter: undefined, params: undefined, orderby: undefined };
  const all = selectionRequest(filters, dataclass, { kind: 'all' }, null, nothing);
  const count = (await counts.count(all)) ?? 0;
  return keys.length * entitiesPerKey < count;
}
