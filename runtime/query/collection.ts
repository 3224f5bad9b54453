import { sql } from 'kysely';
import type { Dialect, JsonPart } from '../dialect/dialect.js';
import type { Statement } from '../dialect/statement.js';
import { FilterSlots } from '../filter/slots.js';
import { compileAnswer } from './computed-places.js';
import type { AnswerOptions } from './context.js';
import { countedStatement, countingOf, countQuery } from './counting.js';
import { entityText, protocolForm } from './entity-json.js';
import { page } from './page.js';
import { dataclassOf, markedPage, pageRows, type PageSource } from './page-rows.js';
import type { Projection } from './projection.js';
import { mostRelated } from './related-count.js';
import { firstFilterSlot, queryContext, type Selection, setSlot, skipSlot } from './selection.js';

/** A statement over a selection, and the values of its filter. */
export interface SelectionPlan {
  readonly statement: Statement;
  readonly filterSlots: FilterSlots;
  /** The most related entities that an entity of the page can bring along. */
  readonly mostRelated: number;
}

/** What a collection is read from, which decides the fields before the entities (protocol P3.9). */
export type CollectionKind = 'selection' | 'set' | 'newSet';

/** Writes the statement that answers a page as the JSON of the answer, expansions included. */
export function planCollection(
  dialect: Dialect,
  options: AnswerOptions,
  kind: CollectionKind,
  source: PageSource,
  projection: Projection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const name = JSON.stringify(dataclassOf(source).name);
  const head: JsonPart[] = ['{'];
  if (kind === 'newSet') head.push('"__ENTITYSET":', dialect.jsonText(sql`${setSlot}`), ',');
  if (kind !== 'selection') head.push(`"__DATACLASS":${name},`);
  const { prefix, count, columns } = countingOf(context, source, filterSlots);
  const { json, from } = page(context, {
    head: [
      ...head,
      `"__entityModel":${name},"__GlobalStamp":`,
      context.dialect.globalStamp,
      ',"__COUNT":',
      count,
      ',',
    ],
    rows: pageRows(context, source, filterSlots, (rowFrom, root) =>
      entityText(context, rowFrom, root, projection, protocolForm),
    ),
    first: dialect.integer(sql`${skipSlot}`),
  });
  return {
    statement: markedPage(
      compileAnswer(context, sql`${prefix}select ${dialect.asBytes(json)}${columns} ${from}`),
      source,
    ),
    filterSlots,
    mostRelated: mostRelated(projection, options.pageSize),
  };
}

/**
 * Writes the statement that counts a selection; it returns null if the entity whose relation is
 * read does not exist.
 */
export function planCount(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const statement = dialect.compile(countQuery(context, selection, filterSlots));
  return { statement, filterSlots, mostRelated: 0 };
}

/**
 * Writes the statement that returns the number of a selection's entities and the version of the data
 * that it is true of: the bound number, if the bound version is still the present one.
 */
export function planKnownCount(
  dialect: Dialect,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const statement = countedStatement(context, tablesVersion, selection, filterSlots);
  return { statement: dialect.compile(statement), filterSlots, mostRelated: 0 };
}
