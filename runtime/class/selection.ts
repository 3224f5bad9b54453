import type { Session } from '../access/session.js';
import {
  addEntity,
  checkPosition,
  containsEntity,
  countOf,
  entitiesOf,
  entityAt,
  iterate,
  otherNode,
} from './selection-actions.js';
import { dropSelection } from './selection-drop.js';
import { combined, type SelectionNode, sliced } from './selection-node.js';
import { nodeOf, readerOf, SelectionHolder, selectionOf } from './selection-state.js';
import { orderedBy, queried } from './selection-queries.js';
import type { EntityTypes } from './types.js';

/** An attribute with values: its name, or a path to one such as `employer.name`, `staff.salary` or `extra.size`. */
export type ValuePath<T extends EntityTypes> = AttributeName<T> | `${string}.${string}`;

/** The type of the values at a path, as class code reads them. */
export type ValueAt<T extends EntityTypes, P extends ValuePath<T>> =
  P extends AttributeName<T> ? NonNullable<T['attributes'][P]> : unknown;

/** An attribute with numbers, or a path, of whose end nothing is known here. */
export type NumberPath<T extends EntityTypes> = NumberName<T> | `${string}.${string}`;

type NumberName<T extends EntityTypes> = {
  [Name in AttributeName<T>]: NonNullable<T['attributes'][Name]> extends number ? Name : never;
}[AttributeName<T>];

type AttributeName<T extends EntityTypes> = keyof T['attributes'] & string;

/**
 * Entities of one dataclass in an order, each once (architecture, "What class code looks like"). A selection holds no entity: it
 * is what was asked for, and each reading method is one statement of the database, however it was put together. The emitted
 * base class declares the relations that lead on: `companies.staff` are the entities that those of `companies` are related to.
 *
 * The order is that of `orderBy`, or of `order by` in a filter, or of `fromKeys`; else that of primary keys, which break ties
 * too. Only `newSelection()` gives a list in memory.
 *
 * Every method that reads throws a RequestError (400 or 404, protocol section 20) for an attribute that does not exist, and a
 * RestError (401 or 403 with 1556) for what the session may not read that the code runs for when it reads.
 */
export abstract class EntitySelection<T extends EntityTypes> extends SelectionHolder {
  get ds(): T['ds'] {
    return selectionOf(this).code.host.datastore;
  }

  get session(): Session {
    return selectionOf(this).code.host.calls.current().session;
  }

  /**
   * Those that a filter holds for, in the same order unless the filter has an `order by`.
   * @param filter in the language of `$filter`: `city = :1 and staff.salary > :2`
   * @param values of its placeholders: texts, numbers, booleans, `Date`s, entities, null, lists of those behind `in`
   * @throws RequestError 400 for a filter that cannot be read, or lacks values
   */
  query(filter: string, ...values: readonly unknown[]): T['selection'] {
    const state = selectionOf(this);
    return this.#of(queried(state.code, nodeOf(state), filter, values));
  }

  /**
   * The same entities in another order.
   * @param order as `$orderby`: `employer.name desc, lastName`
   * @throws RequestError 400 for an order that cannot be read
   */
  orderBy(order: string): T['selection'] {
    return this.#of(orderedBy(nodeOf(selectionOf(this)), order));
  }

  /** Those that are in the other selection too, in the order of this one. */
  and(other: EntitySelection<T>): T['selection'] {
    return this.#combined('and', other);
  }

  /** Those of this selection, then those that the other one adds, each in its order. */
  or(other: EntitySelection<T>): T['selection'] {
    return this.#combined('or', other);
  }

  /** Those that are not in the other selection, in the order of this one. */
  minus(other: EntitySelection<T>): T['selection'] {
    return this.#combined('minus', other);
  }

  /**
   * Those at the positions from `start` on and before `end`, as `Array.prototype.slice` takes them: -1 is the last one.
   * @throws RangeError for what is no whole number
   */
  slice(start = 0, end?: number): T['selection'] {
    checkPosition(start);
    if (end !== undefined) checkPosition(end);
    return this.#of(sliced(nodeOf(selectionOf(this)), start, end));
  }

  count(): Promise<number> {
    return countOf(selectionOf(this));
  }

  /** @returns `null` when there is none */
  first(): Promise<T['entity'] | null> {
    return entityAt(selectionOf(this), 0);
  }

  /** @returns `null` when there is none */
  last(): Promise<T['entity'] | null> {
    return entityAt(selectionOf(this), -1);
  }

  /**
   * @param position from 0 on; -1 is the last one
   * @returns `null` when there is none
   * @throws RangeError for what is no whole number
   */
  at(position: number): Promise<T['entity'] | null> {
    return entityAt(selectionOf(this), position);
  }

  /** Whether an entity is stored and belongs to the selection; of `newSelection()`, whether it was added. */
  contains(entity: T['entity']): Promise<boolean> {
    return containsEntity(selectionOf(this), entity);
  }

  /** The sum of the numbers at a path; 0 where there are none. Behind a to-many relation, each related entity counts once. */
  async sum(path: NumberPath<T>): Promise<number> {
    const state = selectionOf(this);
    return Number(await readerOf(state).compute(nodeOf(state), path, 'sum'));
  }

  /** @returns `null` where there are no numbers */
  average(path: NumberPath<T>): Promise<number | null> {
    const state = selectionOf(this);
    return readerOf(state).compute(nodeOf(state), path, 'average') as Promise<number | null>;
  }

  /** The least value; texts are compared without regard to case. */
  min<P extends ValuePath<T>>(path: P): Promise<ValueAt<T, P> | null> {
    const state = selectionOf(this);
    return readerOf(state).compute(nodeOf(state), path, 'min') as Promise<ValueAt<T, P> | null>;
  }

  /** The greatest value; texts are compared without regard to case. */
  max<P extends ValuePath<T>>(path: P): Promise<ValueAt<T, P> | null> {
    const state = selectionOf(this);
    return readerOf(state).compute(nodeOf(state), path, 'max') as Promise<ValueAt<T, P> | null>;
  }

  /** The different values, ascending and without null; of texts that differ in case alone, one. */
  distinct<P extends ValuePath<T>>(path: P): Promise<ValueAt<T, P>[]> {
    const state = selectionOf(this);
    return readerOf(state).distinct(nodeOf(state), path) as Promise<ValueAt<T, P>[]>;
  }

  /** Reads all entities at once. */
  toArray(): Promise<T['entity'][]> {
    return entitiesOf(selectionOf(this));
  }

  /**
   * Reads the entities some hundreds at a time. Those that belong to the selection at the beginning are gone through, whatever is
   * changed meanwhile; those that are deleted meanwhile are passed over.
   */
  [Symbol.asyncIterator](): AsyncGenerator<T['entity'], undefined> {
    return iterate(selectionOf(this)) as AsyncGenerator<T['entity'], undefined>;
  }

  /**
   * Deletes the entities in one transaction, or part of the one that runs, with what the model's `onDelete` says of those that
   * refer to them: all of them or none.
   * @returns how many entities the selection had
   * @throws SaveError when one is refused
   */
  drop(): Promise<number> {
    return dropSelection(selectionOf(this));
  }

  /**
   * Adds an entity to a list in memory, behind those that are there; one that is there already keeps its place.
   * @throws TypeError for a selection that was not made by `newSelection()`, and for an entity of another dataclass or without
   * a key
   */
  add(entity: T['entity']): this {
    addEntity(selectionOf(this), entity);
    return this;
  }

  #combined(kind: 'and' | 'or' | 'minus', other: object): T['selection'] {
    const state = selectionOf(this);
    return this.#of(combined(kind, nodeOf(state), otherNode(state, other)));
  }

  #of(node: SelectionNode): T['selection'] {
    return selectionOf(this).code.selections.of(node);
  }
}
