import { sql } from 'kysely';
import { type ColumnDefinition, followAll, resolvePath } from '../dataclass/attribute-path.js';
import { comparableColumn } from '../dataclass/comparable.js';
import type { From, Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';

/** Primary key order: the order where a client wants none, and the last word where it does (decisions 11 and 15). */
export function keyOrder({ dialect }: QueryContext, source: Source): Sql {
  return comparableColumn(dialect, source, source.dataclass.key);
}

/**
 * The ORDER BY of a page. Nulls come first ascending, which is SQLite's own way.
 * @throws RequestError 400 with 1810 for a path that cannot be ordered by
 */
export function orderSql(context: QueryContext, from: From, items: readonly OrderItem[]): Sql {
  const terms: Sql[] = [];
  let isTotal = false;
  for (const item of items) {
    const { source, attribute } = orderedAttribute(from, item);
    const value = comparableColumn(context.dialect, source, attribute);
    terms.push(item.descending ? sql`${value} desc` : value);
    isTotal ||= source === from.root && attribute === from.root.dataclass.key;
  }
  if (!isTotal) terms.push(keyOrder(context, from.root));
  return sql.join(terms);
}

function orderedAttribute(
  from: From,
  { path }: OrderItem,
): { readonly source: Source; readonly attribute: ColumnDefinition } {
  const text = path.join('.');
  const resolved = resolvePath(from.root.dataclass, path);
  if ('kind' in resolved) {
    if (resolved.kind === 'objectProperty') {
      throw refuse(
        'notBuilt',
        `${text}: ordering by a property of an object is not supported yet.`,
      );
    }
    throw new RequestError(400, [
      protocolError(
        'attributeNotFound',
        `The "${resolved.name}" attribute cannot be found in the "${resolved.dataclass}" dataclass`,
      ),
      protocolError('orderBy', `$orderby cannot be built with "${text}".`),
    ]);
  }
  const { relations, end } = resolved;
  if (end.kind === 'relatedEntities' || relations.some((each) => each.kind !== 'relatedEntity')) {
    throw refuse('orderBy', `${text} leads over a to-many relation, which gives no order.`);
  }
  const source = followAll(from, from.root, relations as readonly RelatedEntityDefinition[]);
  const attribute = end.kind === 'relatedEntity' ? source.dataclass.foreignKey(end) : end;
  if (['object', 'image', 'blob', 'vector'].includes(attribute.type)) {
    throw refuse('orderBy', `${text} is of the type ${attribute.type}, which has no order.`);
  }
  return { source, attribute };
}
