import { sql } from 'kysely';
import { From, keyColumn, selecting } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Executor } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from '../query/collection.js';
import type { AnswerOptions } from '../query/context.js';
import { whenSettled } from '../query/computed-requests.js';
import type { OrderItem } from '../query/order-by.js';
import type { ReadingContext } from '../query/reading-context.js';
import { isOrdered, selectionOrder } from '../query/page-rows.js';
import {
  firstFilterSlot,
  chosenEntities,
  ifBaseExists,
  queryContext,
  type Selection,
} from '../query/selection.js';
import { orderOf, planFor, type SelectionRequest, shapeName } from '../query/selection-request.js';
import { ascending } from './ascending.js';
import type { KeyList, KeyType } from './key-list.js';
import { parseKeys } from './parse-keys.js';

/** The part of {@link ReadingContext} that a {@link KeysReader} needs. */
export interface KeysContext extends Pick<ReadingContext, 'options' | 'plans' | 'computed'> {
  readonly database: {
    readonly dialect: Dialect;
    readonly executor: Pick<Executor, 'read'>;
  };
}

/** Reads the keys of all entities of a selection, in its order. */
export class KeysReader {
  constructor(private readonly context: KeysContext) {}

  /** @returns `undefined` if the entity whose relation is read does not exist */
  read(request: SelectionRequest): Pending<KeyList | undefined> {
    return whenSettled(this.context, request, (settled) => this.#read(settled));
  }

  #read(request: SelectionRequest): Pending<KeyList | undefined> {
    const { database, options, plans } = this.context;
    const name = shapeName(['keys', request.orderBy]);
    const { plan, values } = planFor(plans.selections, request, name, {}, (selection) =>
      planKeys(database.dialect, options, selection, orderOf(request)),
    );
    const type = request.dataclass.key.type as KeyType;
    return whenThere(database.executor.read(plan.statement, values), (list) => {
      if (list === undefined) return undefined;
      const keys = parseKeys(type, typeof list === 'string' ? Buffer.from(list) : list);
      const isSorted = request.orderBy !== undefined || isOrdered(request, []);
      return isSorted ? keys : ascending(keys);
    });
  }
}

/**
 * Writes the statement that returns the keys of a selection as bytes, in the form that `parseKeys`
 * reads.
 */
function planKeys(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  order: readonly OrderItem[],
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection, filterSlots);
  // Without an order, an index that covers the filter is enough, and numbers are sorted afterwards.
  const { type } = selection.dataclass.key;
  const isSortedLater = !isOrdered(selection, order) && (type === 'integer' || type === 'number');
  const sorted = isSortedLater
    ? undefined
    : selectionOrder(context, from, selection, order, filterSlots);
  const chosen = context.aliases.next();
  const key = sql`${sql.id(chosen, 'key')}`;
  const list =
    type === 'string'
      ? dialect.concat(['[', dialect.joinRows(dialect.jsonText(key)), ']'])
      : sql`coalesce(${dialect.joinRows(key)}, '')`;
  const entities = from.complete(query, condition);
  const ordered = sorted === undefined ? entities : entities.orderBy(sorted);
  const keys = sql`${selecting(ordered, sql`${keyColumn(from.root)} as "key"`)}`;
  const bytes = sql`(select ${dialect.asBytes(list)} from ${keys} as ${sql.id(chosen)})`;
  return {
    statement: dialect.compile(sql`select ${ifBaseExists(context, selection, bytes)}`),
    filterSlots,
    mostRelated: 0,
  };
}
