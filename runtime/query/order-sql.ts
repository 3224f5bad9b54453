import { sql } from 'kysely';
import { type ColumnDefinition, followAll, resolvePath } from '../dataclass/attribute-path.js';
import { comparableColumn } from '../dataclass/comparable.js';
import { objectDocument, objectProperty, propertyOrder } from '../dataclass/object-property.js';
import { type From, maxJoins, type Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';
import { similarityOrder } from './similarity-order.js';

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
    const { source, attribute, properties } = orderedAttribute(from, item);
    if (attribute.type === 'vector') {
      terms.push(similarityOrder(context, source, attribute.name, item));
      continue;
    }
    const values =
      properties.length === 0
        ? [comparableColumn(context.dialect, source, attribute)]
        : propertyValues(context, source, attribute, properties);
    terms.push(...values.map((value) => (item.descending ? sql`${value} desc` : value)));
    isTotal ||= source === from.root && attribute === from.root.dataclass.key;
  }
  if (!isTotal) terms.push(keyOrder(context, from.root));
  return sql.join(terms);
}

function propertyValues(
  { dialect }: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
  properties: readonly string[],
): readonly Sql[] {
  const document = objectDocument(dialect, source, attribute);
  return propertyOrder(dialect, objectProperty(dialect, document, properties));
}

interface OrderedAttribute {
  readonly source: Source;
  readonly attribute: ColumnDefinition;
  /** Where the attribute is an object. */
  readonly properties: readonly string[];
}

function orderedAttribute(from: From, { path, place }: OrderItem): OrderedAttribute {
  const text = path.join('.');
  const resolved = resolvePath(from.root.dataclass, path);
  if ('kind' in resolved) {
    throw new RequestError(400, [
      protocolError(
        'attributeNotFound',
        `The "${resolved.name}" attribute cannot be found in the "${resolved.dataclass}" dataclass`,
      ),
      protocolError('orderBy', `${place}: expected the path of an attribute.`),
    ]);
  }
  const { relations, end, properties } = resolved;
  if (end.kind === 'relatedEntities' || relations.some((each) => each.kind !== 'relatedEntity')) {
    const problem = `${text} leads over a to-many relation, which gives no order`;
    throw refuse('orderBy', `${place}: ${problem}.`);
  }
  const source = followAll(from, from.root, relations as readonly RelatedEntityDefinition[]);
  if (from.joinCount > maxJoins) {
    const problem = `the filter and the order follow more than ${maxJoins} to-one relations`;
    throw refuse('orderBy', `${place}: ${problem} up to here.`);
  }
  const attribute = end.kind === 'relatedEntity' ? source.dataclass.foreignKey(end) : end;
  if (properties.length === 0 && unordered.has(attribute.type)) {
    const problem = `${text} is of the type ${attribute.type}, which has no order`;
    throw refuse('orderBy', `${place}: ${problem}.`);
  }
  return { source, attribute, properties };
}

const unordered: ReadonlySet<string> = new Set(['object', 'image', 'blob']);
