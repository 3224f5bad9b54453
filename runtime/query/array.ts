import { sql } from 'kysely';
import type { Dialect } from '../dialect/dialect.js';
import { FilterSlots } from '../filter/slots.js';
import { arrayEntity } from './array-json.js';
import { compileAnswer } from './computed-places.js';
import type { SelectionPlan } from './collection.js';
import type { AnswerOptions } from './context.js';
import { pageRows, type PageSource } from './page-rows.js';
import type { Projection } from './projection.js';
import { mostRelated } from './related-count.js';
import { firstFilterSlot, ifBaseExists, queryContext } from './selection.js';

/**
 * Writes the statement that answers a page as a bare JSON list of entities (protocol 13.3); it gives null when the entity does
 * not exist whose relation is read.
 */
export function planArray(
  dialect: Dialect,
  options: AnswerOptions,
  source: PageSource,
  projection: Projection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const rows = pageRows(context, source, filterSlots, (from, root) =>
    arrayEntity(context, from, root, projection),
  );
  const alias = context.aliases.next();
  const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
  const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
  const answer = source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
  return {
    statement: compileAnswer(context, sql`select ${answer} from ${rows} as ${sql.id(alias)}`),
    filterSlots,
    mostRelated: mostRelated(projection, options.pageSize),
  };
}
