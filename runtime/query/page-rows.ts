import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From, keyColumn, selecting, type Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';
import {
  baseSlot,
  chosenEntities,
  planOf,
  type Selection,
  type SelectionPlan,
  skipSlot,
  topSlot,
} from './selection.js';
import { orderList, orderSql } from './order-sql.js';

/** The source of the entities of a page. */
export type PageSource =
  /** `$skip` and `$top` of a selection in an order. */
  | {
      readonly kind: 'selection';
      readonly selection: Selection;
      readonly order: readonly OrderItem[];
    }
  /** The entities of a JSON list of keys, in its order, including those that no longer exist. */
  | { readonly kind: 'keys'; readonly dataclass: Dataclass };

/** Writes one entity of the page as a text. */
type WriteRow = (from: From, root: Source) => Sql;

/** An entity that was deleted after its set was made (protocol P9.5). */
const undefinedEntity = '{"__STAMP":0}';

export function dataclassOf(source: PageSource): Dataclass {
  return source.kind === 'keys' ? source.dataclass : source.selection.dataclass;
}

/** The plan of a page; its statement is marked if it is one of all entities. */
export function pagePlan(
  context: QueryContext,
  query: Sql,
  source: PageSource,
  mostRelated = 0,
): SelectionPlan {
  const plan = planOf(context, query, mostRelated);
  if (source.kind !== 'selection' || plan.statement.restricted !== undefined) return plan;
  const { base, filter } = source.selection;
  const isPage = base.kind === 'all' && filter === undefined;
  return isPage ? { ...plan, statement: { ...plan.statement, isPage } } : plan;
}

/** A subquery that returns each entity of the page as the text column `json`, in order. */
export function pageRows(
  context: QueryContext,
  source: PageSource,
  write: WriteRow,
  missing: string = undefinedEntity,
): Sql {
  if (source.kind === 'keys') return rowsOfKeys(context, source.dataclass, write, missing);
  const { selection, order } = source;
  const { dataclass } = selection;
  if (!isOrdered(selection, order)) {
    const rows = unjoinedRows(context, selection, write);
    if (rows !== undefined) return rows;
  }
  // Sorting moves only keys, an index that covers the order serves a deep page without reading the
  // table, and joins of the answer are not made for skipped rows.
  const chosen = new From(context.aliases, dataclass, 'table');
  const page = pageOf(context, chosen, selection, order);
  const keys = page(sql`${keyColumn(chosen.root)} as "key"`);
  const from = new From(context.aliases, dataclass, { rows: keys, dialect: context.dialect });
  const json = write(from, from.root);
  return sql`(select ${json} as "json" ${from.clause}${from.order})`;
}

/** The rows of a page in the order of their keys; none if an entity cannot be written without a join. */
function unjoinedRows(
  context: QueryContext,
  selection: Selection,
  write: WriteRow,
): Sql | undefined {
  const { dataclass } = selection;
  const chosen = new From(context.aliases, dataclass, 'table');
  const page = pageOf(context, chosen, selection, []);
  // Around the page, there are no joins that its filter has made.
  const isAround = context.dialect.computesSkippedRows;
  const from = isAround ? new From(context.aliases, dataclass, 'table') : chosen;
  const before = from.joinCount;
  const json = write(from, from.root);
  if (from.joinCount > before) return undefined;
  if (!isAround) return page(sql`${json} as "json"`);
  const table = sql.id(from.root.alias);
  return sql`(select ${json} as "json" from ${page(sql`${table}.*`)} as ${table})`;
}

function rowsOfKeys(
  context: QueryContext,
  dataclass: Dataclass,
  write: WriteRow,
  missing: string,
): Sql {
  const from = new From(context.aliases, dataclass, {
    list: context.dialect.each(sql`${baseSlot}`, valueTypeOf(dataclass.key.type)),
  });
  const json = write(from, from.root);
  const isMissing = sql`${keyColumn(from.root)} is null`;
  const entity = context.dialect.choose(isMissing, sql.lit(missing), json);
  return sql`(select ${entity} as "json" ${from.clause}${from.order})`;
}

/** The emitted query of a page with what a request adds; its columns are written when every join is known. */
function pageOf(
  context: QueryContext,
  from: From,
  selection: Selection,
  order: readonly OrderItem[],
): (columns: Sql) => Sql {
  const { dialect } = context;
  const { query, condition } = chosenEntities(context, from, selection);
  const sorted = isOrdered(selection, order)
    ? selectionOrder(context, from, selection, order)
    : undefined;
  // A plain variable behind LIMIT makes SQLite prepare the statement again for every value.
  const [top, skip] = [dialect.integer(sql`${topSlot}`), dialect.integer(sql`${skipSlot}`)];
  return (columns) => {
    const page = selection.dataclass.queries.page(from.complete(query, condition), top, skip);
    const ordered = sorted === undefined ? page : page.clearOrderBy().orderBy(sorted);
    return sql`${selecting(ordered, columns)}`;
  };
}

/** Whether a selection is read in another order than that of its keys. */
export function isOrdered({ base }: Pick<Selection, 'base'>, items: readonly OrderItem[]): boolean {
  return items.length > 0 || (base.kind === 'tree' && base.tree.isOrdered);
}

/** That of `items`, or else its own; written behind its condition. @throws RequestError 400 with 1810 */
export function selectionOrder(
  context: QueryContext,
  from: From,
  selection: Selection,
  items: readonly OrderItem[],
): Sql {
  const { base } = selection;
  return base.kind === 'tree' && items.length === 0
    ? orderList(context, base.tree.order(context, from, selection))
    : orderSql(context, from, items);
}
