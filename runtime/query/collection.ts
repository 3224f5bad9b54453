import { sql } from 'kysely';
import { From } from '../dataclass/source.js';
import type { Dialect, JsonPart } from '../dialect/dialect.js';
import type { Statement } from '../dialect/statement.js';
import { FilterSlots } from '../filter/slots.js';
import { compileAnswer } from './computed-places.js';
import type { AnswerOptions } from './context.js';
import { entityText, protocolForm } from './entity-json.js';
import { page } from './page.js';
import { dataclassOf, markedPage, pageRows, type PageSource } from './page-rows.js';
import type { Projection } from './projection.js';
import { mostRelated } from './related-count.js';
import {
  chosenEntities,
  countSlot,
  firstFilterSlot,
  ifBaseExists,
  queryContext,
  type Selection,
  setSlot,
  skipSlot,
} from './selection.js';

/** A statement over a selection, and the values of its filter. */
export interface SelectionPlan {
  readonly statement: Statement;
  readonly filterSlots: FilterSlots;
  /** The most related entities that an entity of the page can bring along. */
  readonly mostRelated: number;
}

/** What a collection is read from, which decides the fields before the entities (protocol P3.9). */
export type CollectionKind = 'selection' | 'set' | 'newSet';

/** Writes the statement that answers a page as the JSON of the answer, expansions included; the count is bound. */
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
  const { json, from } = page(context, {
    head: [
      ...head,
      `"__entityModel":${name},"__GlobalStamp":`,
      context.dialect.globalStamp,
      ',"__COUNT":',
      dialect.integer(sql`${countSlot}`),
      ',',
    ],
    rows: pageRows(context, source, filterSlots, (rowFrom, root) =>
      entityText(context, rowFrom, root, projection, protocolForm),
    ),
    first: dialect.integer(sql`${skipSlot}`),
  });
  return {
    statement: markedPage(
      compileAnswer(context, sql`select ${dialect.asBytes(json)} ${from}`),
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
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection, filterSlots);
  const count = selection.dataclass.queries.count(from.complete(query, condition));
  const { base } = selection;
  return {
    statement: dialect.compile(
      base.kind === 'related'
        ? sql`select ${ifBaseExists(context, selection, sql`${count}`)}`
        : count,
    ),
    filterSlots,
    mostRelated: 0,
  };
}
