import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { compileAnswer } from './computed-places.js';
import { queryContext } from './selection.js';
import type { AnswerOptions } from './context.js';
import { entityText } from './entity-json.js';
import { keyOrder } from './order-sql.js';
import type { Projection } from './projection.js';
import { entityUri } from './value-json.js';

/**
 * Writes the statement that reads one entity by the value of an attribute, as the JSON of the answer; the first in key order
 * where several have it. Its only value is the attribute's, folded if it is a text.
 */
export function planEntity(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  attribute: StorageDefinition,
  projection: Projection,
): Statement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, dataclass);
  const head = [`"__entityModel":${JSON.stringify(dataclass.name)},`];
  const json = entityText(context, from, from.root, projection, head);
  const value = comparableColumn(dialect, from.root, attribute);
  const isWanted = dialect.compare(value, '=', sql`${new Slot(0)}`, valueTypeOf(attribute.type));
  const order =
    attribute.key === true || attribute.unique === true
      ? sql``
      : sql` order by ${keyOrder(context, from.root)} limit 1`;
  // Not as bytes: Node sends a short text together with the headers.
  return compileAnswer(context, sql`select ${json} ${from.clause} where ${isWanted}${order}`);
}

/**
 * Writes the statement that reads an entity that was just saved, as a member of the answer to `$method=update` (protocol
 * section 11.3). Its only value is the key, folded if it is a text.
 */
export function planSavedEntity(
  dialect: Dialect,
  options: AnswerOptions,
  dataclass: Dataclass,
  projection: Projection,
): Statement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, dataclass);
  const head = [
    `"__entityModel":${JSON.stringify(dataclass.name)},"__STATUS":{"success":true},"uri":"`,
    ...entityUri(context, from.root),
    '",',
  ];
  const json = entityText(context, from, from.root, projection, head);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return compileAnswer(context, sql`select ${json} ${from.clause} where ${key} = ${new Slot(0)}`);
}
