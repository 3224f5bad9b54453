import { sql, type SqlBool } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From, keyColumn, selecting, type Source } from '../dataclass/source.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { type EntityQuery, queryOf } from '../protocol/queries.js';
import { compileAnswer } from './computed-places.js';
import { queryContext } from './selection.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { entityText, protocolForm } from './entity-json.js';
import type { Projection } from './projection.js';
import { entityUri } from './value-json.js';

/**
 * Writes the statement that reads one entity by the value of an attribute, as the JSON of the
 * answer; the first in key order if several have it. Its only value is the attribute's, folded if
 * it is a text.
 */
export function planEntity(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  attribute: StorageDefinition,
  projection: Projection,
): Statement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, dataclass, 'table');
  const head = [`"__entityModel":${JSON.stringify(dataclass.name)},`];
  const json = entityText(context, from, from.root, projection, protocolForm, head);
  // Not as bytes: Node sends a short text together with the headers.
  const query = from.complete(entitiesWith(dialect, from.root, attribute));
  return compileAnswer(context, selecting(query, json));
}

/** The entities with a value: at most one, unless the attribute's values are not unique. */
function entitiesWith(dialect: Dialect, root: Source, attribute: StorageDefinition): EntityQuery {
  const { queries, key } = root.dataclass;
  const type = valueTypeOf(attribute.type);
  const value = dialect.compared(sql`${new Slot(0)}`, type);
  if (attribute === key) return queries.byKey(dialect.db, value);
  const byUnique = queryOf(queries.by, attribute.name);
  if (byUnique !== undefined) return byUnique(dialect.db, value);
  const stored = comparableColumn(dialect, root, attribute);
  const isWanted = dialect.compare(stored, '=', sql`${new Slot(0)}`, type);
  const first = queries.page(queries.entities(dialect.db), sql.lit(1), sql.lit(0));
  return first.where(isWanted.$castTo<SqlBool>());
}

/**
 * Writes the statement that reads an entity that was just saved, as a member of the answer to
 * `$method=update` (protocol P7.17). Its only value is the key, folded if it is a text.
 */
export function planSavedEntity(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  projection: Projection,
): Statement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, dataclass, 'table');
  const json = savedJson(context, from, projection);
  const saved = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`);
  return compileAnswer(context, selecting(from.complete(saved), json));
}

/**
 * Writes the statement that changes entities and answers with each of them, as {@link planSavedEntity}
 * does, and with its key.
 * @param change returns the columns of the entities
 * @returns none if the answer needs more than these entities and other dataclasses
 */
export function planDirectChange(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  projection: Projection,
  change: BuiltQuery | Sql,
): Statement | undefined {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, dataclass);
  const json = savedJson(context, from, projection);
  // The statement sees its table as it was before.
  if (dialect.direct === undefined || from.joins(dataclass)) return undefined;
  const answer = sql`select ${json}, ${keyColumn(from.root)} ${from.clause}`;
  const statement = compileAnswer(context, dialect.direct.answer(change, dataclass.table, answer));
  const isWhole = statement.restricted === undefined && statement.computed === undefined;
  return isWhole ? statement : undefined;
}

function savedJson(context: QueryContext, from: From, projection: Projection): Sql {
  const head = [
    `"__entityModel":${JSON.stringify(from.root.dataclass.name)},"__STATUS":{"success":true},"uri":"`,
    ...entityUri(context, from.root),
    '",',
  ];
  return entityText(context, from, from.root, projection, protocolForm, head);
}
