import type { Session } from '../../access/session.js';
import {
  combined,
  HeldEntities,
  type SelectionNode,
  sliced,
  entityOf,
  listed,
  filtered,
  ordered,
} from './selection-node.js';
import type { EntityTypes, EntityObject } from './types.js';
import { except, type Key, type KeyList, keysOf, type KeyType } from '../../entity-set/key-list.js';
import { givenValues } from './entity.js';
import { findState, stateOf } from './entity-state.js';
import { SaveError, type SaveProblem } from './failure.js';
import { errorCodes, protocolError } from '../../protocol/errors.js';
import { entityStatuses } from '../../write/refusals.js';
import { chosenToDelete } from '../../write/delete.js';
import type { DatePart } from '../../filter/term.js';
import type { Aggregate } from '../../protocol/aggregate.js';
import { SelectionReader } from './selection-reader.js';
import { resolvedTree } from './selection-tree.js';
import { filterError } from '../../filter/lexer.js';
import { filterInputs } from '../../filter/prepared-filter.js';
import { shortened } from '../../protocol/names.js';
import { parseOrderBy } from '../../query/order-by.js';
import type { DataclassContext } from './context.js';
import { paramsOf } from './selection-values.js';

/** An attribute with values: its name, or a path to one such as `employer.name`, `staff.salary` or `extra.size`. */
type SelectionPath<T extends EntityTypes> = AttributeName<T> | `${string}.${string}`;

/** The type of the values at a path, as class code reads them. */
type ValueAt<T extends EntityTypes, P extends SelectionPath<T>> =
  P extends AttributeName<T> ? NonNullable<T['attributes'][P]> : unknown;

/** An attribute with numbers, or a path, whose end is not known here. */
type NumberPath<T extends EntityTypes> = NumberName<T> | DecimalName<T> | `${string}.${string}`;

/**
 * What a sum is: a text for decimals. Behind a dot it may be one if some dataclass of the model has
 * decimals.
 */
type NumberAt<T extends EntityTypes, P extends NumberPath<T>> =
  P extends DecimalName<T>
    ? string
    : P extends NumberName<T>
      ? number
      : T extends { readonly decimals: string }
        ? number | string
        : number;

type DecimalName<T extends EntityTypes> = T extends {
  readonly decimals: infer Names extends string;
}
  ? Names
  : never;

type NumberName<T extends EntityTypes> = {
  [Name in AttributeName<T>]: NonNullable<T['attributes'][Name]> extends number ? Name : never;
}[AttributeName<T>];

type AttributeName<T extends EntityTypes> = keyof T['attributes'] & string;

/** A key of groups: an attribute, a to-one relation, a path, or a part of a date such as `hiredAt:month`. */
export type GroupKey<T extends EntityTypes> =
  SelectionPath<T> | (keyof T['entity'] & string) | `${string}:${DatePart}`;

/** What is computed for each group: `count`, the number of its entities, or a function of the values at a path. */
export type GroupTerm<T extends EntityTypes> =
  | 'count'
  | `${'count' | 'min' | 'max'}(${SelectionPath<T>})`
  | `${'sum' | 'average'}(${NumberPath<T>})`;

/** A group: its keys, and what was computed for it, under the names in the call. */
export type GroupRow<T extends EntityTypes, K extends string, A extends string> = {
  readonly [Name in K]: Name extends AttributeName<T>
    ? T['attributes'][Name]
    : Name extends `${string}:${DatePart}`
      ? string | null
      : string | number | boolean | Date | null;
} & { readonly [Name in A]: TermAt<T, Name> };

type TermAt<T extends EntityTypes, A extends string> = A extends 'count' | `count(${string})`
  ? number
  : A extends `sum(${infer P extends NumberPath<T>})`
    ? NumberAt<T, P>
    : A extends `average(${infer P extends NumberPath<T>})`
      ? NumberAt<T, P> | null
      : A extends `${'min' | 'max'}(${infer P extends SelectionPath<T>})`
        ? ValueAt<T, P> | null
        : never;

/** Which groups are read, and in what order. */
export interface GroupOptions {
  /** A filter for groups: `count > :1 and sum(salary) > 1000`. */
  readonly having?: string;
  /** Values of the placeholders in `having`. */
  readonly values?: readonly unknown[];
  /** Keys and terms, each with `asc` or `desc`. The keys in their order if left out; they also break ties. */
  readonly orderBy?: string;
  /** The most groups. */
  readonly top?: number;
  /** Groups before the first one. */
  readonly skip?: number;
}

/** The parts of a selection of class code; opaque to class code. */
export interface SelectionState {
  readonly code: DataclassContext;
  /** Entities in memory for a selection that class code fills itself. */
  readonly content: SelectionNode | HeldEntities;
}

let stateWithin: (holder: object) => SelectionState | undefined;

/** Holds the state of a selection as a private member, so that nothing lists it. */
abstract class SelectionHolder {
  readonly #state: SelectionState;

  static {
    stateWithin = (holder) => (#state in holder ? holder.#state : undefined);
  }

  constructor(state: SelectionState) {
    this.#state = state;
  }
}

/** The state of a selection; `undefined` for any other object. */
export function findSelection(object: object): SelectionState | undefined {
  return stateWithin(object);
}

/** The state of an object that is certainly a selection. */
export function selectionOf(selection: object): SelectionState {
  const state = stateWithin(selection);
  if (state === undefined) throw new TypeError('This is no selection.');
  return state;
}

/** A selection as a node for the database. */
export function nodeOf({ content }: SelectionState): SelectionNode {
  return content instanceof HeldEntities ? content.node : content;
}

function readerOf({ code }: SelectionState): SelectionReader {
  return new SelectionReader(code);
}

/**
 * Entities of one dataclass in an order, each once. A selection holds no entities: it describes a
 * request, and each reading method runs one database statement, however the selection was composed.
 * The emitted base class declares the relations: `companies.staff` are the entities to which those
 * of `companies` are related.
 *
 * The order is that of `orderBy`, of `order by` in a filter, or of `fromKeys`; else that of primary
 * keys, which also break ties. Only `newSelection()` gives a list in memory.
 *
 * Every method that reads throws a RequestError (400 or 404, protocol P3.19) for an attribute that
 * does not exist, and a RestError (401 or 403 with 1556) for what the session of the reading code
 * may not read.
 */
export abstract class EntitySelection<T extends EntityTypes> extends SelectionHolder {
  get ds(): T['ds'] {
    return selectionOf(this).code.host.datastore;
  }

  get session(): Session {
    return selectionOf(this).code.host.scopes.current().session;
  }

  /**
   * The entities that match a filter, in the same order unless the filter has an `order by`.
   * @param filter in the language of `$filter`: `city = :1 and staff.salary > :2`
   * @param values of its placeholders: texts, numbers, booleans, `Date`s, entities, null, lists of
   * those behind `in`
   * @throws RequestError 400 for a filter that cannot be read, or lacks values
   */
  query(filter: string, ...values: readonly unknown[]): T['selection'] {
    const state = selectionOf(this);
    return this.#of(queried(state.code, nodeOf(state), filter, values));
  }

  /**
   * These entities in another order.
   * @param order as `$orderby`: `employer.name desc, lastName`
   * @throws RequestError 400 for an order that cannot be read
   */
  orderBy(order: string): T['selection'] {
    return this.#of(ordered(nodeOf(selectionOf(this)), order, parseOrderBy(order)));
  }

  /** The entities that are in the other selection too, in the order of this one. */
  and(other: EntitySelection<T>): T['selection'] {
    return this.#combined('and', other);
  }

  /** The entities of this selection, then those that the other one adds, each in its order. */
  or(other: EntitySelection<T>): T['selection'] {
    return this.#combined('or', other);
  }

  /** The entities that are not in the other selection, in the order of this one. */
  minus(other: EntitySelection<T>): T['selection'] {
    return this.#combined('minus', other);
  }

  /**
   * The entities at the positions from `start` on and before `end`, as in `Array.prototype.slice`:
   * -1 is the last one.
   * @throws RangeError for what is no whole number
   */
  slice(start = 0, end?: number): T['selection'] {
    checkPosition(start);
    if (end !== undefined) checkPosition(end);
    return this.#of(sliced(nodeOf(selectionOf(this)), start, end));
  }

  async count(): Promise<number> {
    const state = selectionOf(this);
    const { content } = state;
    return content instanceof HeldEntities
      ? content.entities.length
      : readerOf(state).count(content);
  }

  /** @returns `null` if there is none */
  first(): Promise<T['entity'] | null> {
    return this.at(0);
  }

  /** @returns `null` if there is none */
  last(): Promise<T['entity'] | null> {
    return this.at(-1);
  }

  /**
   * @param position from 0 on; -1 is the last one
   * @returns `null` if there is none
   * @throws RangeError for what is no whole number
   */
  async at(position: number): Promise<T['entity'] | null> {
    checkPosition(position);
    const state = selectionOf(this);
    const { content } = state;
    if (content instanceof HeldEntities) return content.entities.at(position) ?? null;
    const end = position === -1 ? undefined : position + 1;
    const [entity] = await readerOf(state).entities(sliced(content, position, end));
    return entity ?? null;
  }

  /** Whether an entity is stored and belongs to the selection; of `newSelection()`, whether it was added. */
  async contains(entity: T['entity']): Promise<boolean> {
    const state = selectionOf(this);
    const { content } = state;
    const key = keyOf(state, entity);
    if (key === null) return false;
    if (content instanceof HeldEntities) return content.has(key);
    const one = entityOf(content.dataclass, key);
    return (await readerOf(state).count(combined('and', one, content))) > 0;
  }

  /**
   * The sum of the numbers at a path; 0 if there are none. Behind a to-many relation, each related
   * entity counts once. The sum of decimals is exact.
   */
  async sum<P extends NumberPath<T>>(path: P): Promise<NumberAt<T, P>> {
    return ((await this.#compute(path, 'sum')) ?? 0) as NumberAt<T, P>;
  }

  /**
   * That of decimals has 4 decimals more, and is rounded half away from zero.
   * @returns `null` if there are no numbers
   */
  async average<P extends NumberPath<T>>(path: P): Promise<NumberAt<T, P> | null> {
    return this.#compute(path, 'average') as Promise<NumberAt<T, P> | null>;
  }

  /** The least value; texts are compared without regard to case. */
  async min<P extends SelectionPath<T>>(path: P): Promise<ValueAt<T, P> | null> {
    return this.#compute(path, 'min') as Promise<ValueAt<T, P> | null>;
  }

  /** The greatest value; texts are compared without regard to case. */
  async max<P extends SelectionPath<T>>(path: P): Promise<ValueAt<T, P> | null> {
    return this.#compute(path, 'max') as Promise<ValueAt<T, P> | null>;
  }

  /** The different values, ascending and without null; one of texts that differ only in case. */
  async distinct<P extends SelectionPath<T>>(path: P): Promise<ValueAt<T, P>[]> {
    const state = selectionOf(this);
    return readerOf(state).distinct(nodeOf(state), path) as Promise<ValueAt<T, P>[]>;
  }

  /**
   * Groups the entities, and computes values for each group.
   * @param keys attributes, to-one relations and paths over them; `hiredAt:month` for a part of a
   * date (`year`, `quarter`, `month`, `day`)
   * @param terms `count`, `sum(salary)`, `average(…)`, `min(…)`, `max(…)`, `count(…)`
   * @throws RequestError 400 for wrong keys, terms and options
   * @throws RangeError for positions that are no whole numbers from 0 on
   */
  async groupBy<const K extends GroupKey<T>, const A extends GroupTerm<T> = 'count'>(
    keys: readonly K[],
    terms: readonly A[] = ['count'] as readonly string[] as readonly A[],
    options: GroupOptions = {},
  ): Promise<GroupRow<T, K, A>[]> {
    for (const position of [options.top ?? 0, options.skip ?? 0]) {
      checkPosition(position);
      if (position < 0)
        throw new RangeError(`${position} is not a position: it must be at least 0.`);
    }
    const state = selectionOf(this);
    const groups = readerOf(state).groups(nodeOf(state), keys, terms, options);
    return groups as Promise<unknown> as Promise<GroupRow<T, K, A>[]>;
  }

  /** Reads all entities at once. */
  async toArray(): Promise<T['entity'][]> {
    const state = selectionOf(this);
    const { content } = state;
    return content instanceof HeldEntities
      ? [...content.entities]
      : readerOf(state).entities(content);
  }

  /**
   * Reads the entities some hundreds at a time: those that belong to the selection at the
   * beginning, whatever changes meanwhile, without those that are deleted meanwhile.
   */
  [Symbol.asyncIterator](): AsyncGenerator<T['entity'], undefined> {
    return iterate(selectionOf(this)) as AsyncGenerator<T['entity'], undefined>;
  }

  /**
   * Deletes the entities in one transaction, or as part of the running one, and applies the model's
   * `onDelete` to those that refer to them: all of them or none.
   * @returns how many entities the selection had
   * @throws SaveError if one is refused
   */
  async drop(): Promise<number> {
    const state = selectionOf(this);
    const { model, writing } = state.code.visible();
    const request = await resolvedTree(model, nodeOf(state));
    return writing.dropChosen(chosenToDelete(model, request));
  }

  /**
   * Gives all entities the same values, in one transaction, or as part of the running one: all of
   * them are saved with their events, or none.
   * @param values as for `fromObject`
   * @param options `atMost`: how many entities the selection may have
   * @returns how many entities were changed
   * @throws SaveError if one is refused, or there are more than `atMost`
   */
  update(values: T['values'], options: { readonly atMost?: number } = {}): Promise<number> {
    return changeAll(selectionOf(this), values, options.atMost);
  }

  /**
   * Adds an entity to a list in memory, behind the others; one that is there already keeps its
   * position.
   * @throws TypeError for a selection that was not made by `newSelection()`, and for an entity of
   * another dataclass or without a key
   */
  add(entity: T['entity']): this {
    const state = selectionOf(this);
    const { content } = state;
    if (!(content instanceof HeldEntities)) {
      throw new TypeError(
        'Entities are added to a selection that newSelection() made; other selections are combined with or().',
      );
    }
    const key = keyOf(state, entity);
    if (key === null) {
      throw new TypeError('An entity without a key cannot be added to a selection: save it first.');
    }
    content.add(key, entity as EntityObject);
    return this;
  }

  #combined(kind: 'and' | 'or' | 'minus', other: object): T['selection'] {
    const state = selectionOf(this);
    return this.#of(combined(kind, nodeOf(state), otherNode(state, other)));
  }

  #compute(path: string, aggregate: Aggregate): Promise<unknown> {
    const state = selectionOf(this);
    return readerOf(state).compute(nodeOf(state), path, aggregate);
  }

  #of(node: SelectionNode): T['selection'] {
    return selectionOf(this).code.select(node);
  }
}

async function changeAll(
  { code, content }: SelectionState,
  values: object,
  atMost = Infinity,
): Promise<number> {
  const state = { code, content: content instanceof HeldEntities ? content.node : content };
  return code.host.write(async () => {
    if (atMost < Infinity && (await readerOf(state).count(state.content)) > atMost) {
      throw new SaveError(tooMany(atMost));
    }
    let changed = 0;
    for await (const entity of iterate(state)) {
      if (await changeOne(code, entity, values)) changed += 1;
    }
    return changed;
  });
}

/** @returns whether the entity was changed */
async function changeOne(
  code: DataclassContext,
  found: EntityObject,
  values: object,
): Promise<boolean> {
  let entity: EntityObject | undefined = found;
  for (let tries = 1; entity !== undefined; tries += 1) {
    const { stamp } = entity;
    givenValues(stateOf(entity), entity, values);
    try {
      await code.visible().writing.save(entity);
      return entity.stamp !== stamp;
    } catch (error) {
      // Others may have changed it since it was read. A refused save keeps them from doing it again.
      const isStale = error instanceof SaveError && error.status === entityStatuses.stampChanged;
      if (!isStale || tries === mostTries) throw error;
    }
    entity = await code.load(entity.key ?? '');
  }
  return false;
}

const mostTries = 3;

function tooMany(atMost: number): SaveProblem {
  const text = `Nothing was changed: more than ${atMost} entities match, and atMost is ${atMost}.`;
  const { status } = errorCodes.tooLarge;
  const problems = [protocolError('tooLarge', text)];
  return { problems, status, entityStatus: entityStatuses.other };
}

/** Entities that `for await` reads with one statement. */
const chunkSize = 500;

/**
 * Reads keys first if there are more entities than one statement reads, so that nothing stays open
 * while class code runs.
 */
async function* iterate(state: SelectionState): AsyncGenerator<EntityObject, undefined, undefined> {
  const { content } = state;
  if (content instanceof HeldEntities) {
    yield* content.entities;
    return;
  }
  const first = await readerOf(state).entities(sliced(content, 0, chunkSize));
  // Changes made during the iteration must not affect which entities follow.
  const rest =
    first.length < chunkSize
      ? undefined
      : except(await readerOf(state).keys(content), keysOfEntities(state, first));
  yield* first;
  if (rest === undefined) return;
  for (let start = 0; start < rest.length; start += chunkSize) {
    const node = listed(content.dataclass, rest.slice(start, start + chunkSize));
    yield* await readerOf(state).entities(node);
  }
}

/** @throws RangeError for anything but a whole number */
function checkPosition(position: number): void {
  if (!Number.isSafeInteger(position))
    throw new RangeError(`${position} is not a position: it must be a whole number.`);
}

/**
 * Another selection of the same dataclass, to be combined with this one.
 * @throws TypeError for anything else
 */
function otherNode({ code }: SelectionState, other: object): SelectionNode {
  const state = findSelection(other);
  if (state?.code === code) return nodeOf(state);
  throw new TypeError(
    `A selection of ${code.dataclass.name} can only be combined with another selection of the same dataclass.`,
  );
}

function keyOf({ code }: SelectionState, entity: object): Key | null {
  const state = findState(entity);
  if (state?.code === code) return state.key;
  throw new TypeError(`An entity of ${code.dataclass.name} is expected.`);
}

function keysOfEntities({ code }: SelectionState, entities: readonly EntityObject[]): KeyList {
  const keys = entities.flatMap(({ key }) => key ?? []);
  return keysOf(code.dataclass.key.type as KeyType, keys);
}

/**
 * The part of a selection that matches a filter.
 * @throws RequestError 400 for a filter that cannot be read, or lacks values
 */
export function queried(
  { host }: DataclassContext,
  node: SelectionNode,
  text: string,
  values: readonly unknown[],
): SelectionNode {
  refuseOrderAlone(text);
  const params = paramsOf(values);
  const filter = host.model.filters.prepare(text, params);
  const inputs = filterInputs(filter, params);
  const { orderBy } = filter;
  const items =
    orderBy === undefined
      ? []
      : parseOrderBy(orderBy.text, { parameter: '$filter', start: orderBy.start });
  return filtered(node, filter, inputs, items);
}

/** @throws RequestError 400 for an `order by` without a filter, with what to call instead */
function refuseOrderAlone(text: string): void {
  const order = /^\s*order\s+by\b\s*(.*)$/isu.exec(text)?.[1];
  if (order === undefined) return;
  throw filterError(
    0,
    `query() expects a comparison before order by; to order all entities, call .all().orderBy('${shortened(order.trim())}')`,
  );
}
