import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { inputPositions, type PreparedFilter } from '../filter/prepared-filter.js';
import { FilterSlots } from '../filter/slots.js';
import { filterCondition } from '../filter/to-sql.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { entityText, relatedTo } from './entity-json.js';
import type { OrderItem } from './order-by.js';
import { orderSql } from './order-sql.js';
import { type Extract, page, selectExtract } from './page.js';
import type { Projection } from './projection.js';
import { mostRelated } from './related-count.js';

/** A read of many entities, but for the values that each request brings. */
export interface CollectionShape {
  readonly dataclass: Dataclass;
  /** The entities are those of a to-many relation of one entity. */
  readonly owner:
    { readonly dataclass: Dataclass; readonly relation: RelatedEntitiesDefinition } | undefined;
  readonly filter: PreparedFilter | undefined;
  readonly nulls: readonly number[];
  readonly mismatched: readonly number[];
  readonly order: readonly OrderItem[];
  readonly projection: Projection;
}

/** A collection's statement. Its values: the owner's key, `$skip`, `$top`, then the filter's. */
export interface CollectionPlan {
  readonly statement: Statement;
  readonly filterSlots: FilterSlots;
  /** The most related entities that an entity of the page can bring with it. */
  readonly mostRelated: number;
}

const ownerSlot = new Slot(0);
const skipSlot = new Slot(1);
const topSlot = new Slot(2);
const firstFilterSlot = 3;

/**
 * Writes the one statement that answers a collection read: count, page and expansions together, as the JSON of the answer.
 * It gives no value when the owner does not exist.
 */
export function planCollection(
  dialect: Dialect,
  options: AnswerOptions,
  shape: CollectionShape,
): CollectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const { dataclass } = shape;
  const counted = new From(context.aliases, dataclass);
  const countedWhere = conditions(context, counted, shape, filterSlots);
  const { json, from: pageFrom } = page(context, {
    head: [
      `{"__entityModel":${JSON.stringify(dataclass.name)},"__GlobalStamp":`,
      context.globalStamp,
      ',"__COUNT":',
      sql`(select count(*) ${counted.clause}${where(countedWhere)})`,
      ',',
    ],
    rows: pageRows(context, shape, filterSlots),
    first: dialect.integer(sql`${skipSlot}`),
  });
  const answer = dialect.asBytes(json);
  const selected =
    shape.owner === undefined ? answer : ifOwnerExists(context, shape.owner.dataclass, answer);
  return {
    statement: dialect.compile(sql`select ${selected} ${pageFrom}`),
    filterSlots,
    mostRelated: mostRelated(shape.projection, options.pageSize),
  };
}

/** The entities of the page, in order. */
function pageRows(context: QueryContext, shape: CollectionShape, slots: FilterSlots): Sql {
  const { dataclass, projection, order } = shape;
  if (order.length === 0) {
    const from = new From(context.aliases, dataclass);
    const extract = pageExtract(context, from, shape, slots);
    const before = from.joinCount;
    const json = entityText(context, from, from.root, projection);
    if (from.joinCount === before) return selectExtract(json, 'json', extract);
  }
  // Sorting moves keys alone, an index that covers the order serves a deep page without touching the table, and what is
  // joined for the answer is not joined for rows that are skipped.
  const chosen = new From(context.aliases, dataclass);
  const extract = pageExtract(context, chosen, shape, slots);
  const keys = selectExtract(keyColumn(chosen.root), 'key', extract);
  const from = new From(context.aliases, dataclass, keys);
  const json = entityText(context, from, from.root, projection);
  return sql`select ${json} as ${sql.id('json')} ${from.clause}`;
}

function pageExtract(
  context: QueryContext,
  from: From,
  shape: CollectionShape,
  slots: FilterSlots,
): Extract {
  const { dialect } = context;
  return {
    from,
    where: conditions(context, from, shape, slots),
    order: orderSql(context, from, shape.order),
    // A bare variable behind LIMIT makes SQLite prepare the statement anew for every value.
    top: dialect.integer(sql`${topSlot}`),
    skip: dialect.integer(sql`${skipSlot}`),
  };
}

export function queryContext(dialect: Dialect, options: AnswerOptions): QueryContext {
  return {
    dialect,
    aliases: new Aliases(),
    options,
    globalStamp: sql`(select "value" from "__datastore" where "name" = 'globalStamp')`,
  };
}

function where(condition: Sql | undefined): Sql {
  return condition === undefined ? sql`` : sql` where ${condition}`;
}

function conditions(
  context: QueryContext,
  from: From,
  shape: CollectionShape,
  slots: FilterSlots,
): Sql | undefined {
  const parts: Sql[] = [];
  if (shape.owner !== undefined) {
    const { dataclass, relation } = shape.owner;
    parts.push(relatedTo(from.root, dataclass, relation, ownerKey(context, dataclass)));
  }
  if (shape.filter !== undefined) {
    const { filter } = shape.filter;
    const filterContext = {
      dialect: context.dialect,
      aliases: context.aliases,
      slots,
      inputs: inputPositions(filter),
      nulls: new Set(shape.nulls),
      mismatched: new Set(shape.mismatched),
    };
    parts.push(filterCondition(filterContext, from, filter));
  }
  return parts.length === 0 ? undefined : sql.join(parts, sql` and `);
}

/** The owner's key as it is stored: a client may write a text key in another case. */
function ownerKey(context: QueryContext, owner: Dataclass): Sql {
  if (owner.key.type !== 'string') return sql`${ownerSlot}`;
  const from = new From(context.aliases, owner);
  const key = comparableColumn(context.dialect, from.root, owner.key);
  return sql`(select ${keyColumn(from.root)} ${from.clause} where ${key} = ${ownerSlot})`;
}

function ifOwnerExists(context: QueryContext, owner: Dataclass, answer: Sql): Sql {
  const from = new From(context.aliases, owner);
  const key = comparableColumn(context.dialect, from.root, owner.key);
  return sql`case when exists (select 1 ${from.clause} where ${key} = ${ownerSlot}) then ${answer} end`;
}
