import { sql } from 'kysely';
import {
  type ColumnDefinition,
  followAll,
  type NameScope,
  resolvePath,
} from '../dataclass/attribute-path.js';
import {
  comparableColumn,
  objectDocument,
  propertyOrder,
  relatedKeyOf,
} from '../dataclass/comparable.js';
import type { Source } from '../dataclass/dataclasses.js';
import { type From, maxJoins } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';

/** Primary key order: the default, and the last criterion of every other order (protocol P3.12, P3.14). */
export function keyOrder({ dialect }: QueryContext, source: Source): Sql {
  return comparableColumn(dialect, source, source.dataclass.key);
}

/** The ORDER BY of a page. @throws RequestError 400 with 1810 */
export function orderSql(context: QueryContext, from: From, items: readonly OrderItem[]): Sql {
  return orderList(orderTerms(context, from, items));
}

/** An ORDER BY term; null sorts before every value. */
export interface OrderTerm {
  readonly value: Sql;
  readonly descending: boolean;
  /** Null sorts after every value instead. */
  readonly isNullGreatest?: true;
  /** The value is never null, and its index has no NULLS clause. */
  readonly isNeverNull?: boolean;
  /** The attribute whose value it is; none for a similarity or a part of an object. */
  readonly attribute?: ColumnDefinition | undefined;
}

/** The terms behind ORDER BY. */
export function orderList(terms: readonly OrderTerm[]): Sql {
  return sql.join(terms.map(orderTerm));
}

/** Columns without nulls have no NULLS clause, so that PostgreSQL uses their index. */
function orderTerm({ value, descending, isNullGreatest, isNeverNull }: OrderTerm): Sql {
  const term = descending ? sql`${value} desc` : value;
  if (isNeverNull === true) return term;
  return descending === (isNullGreatest === true)
    ? sql`${term} nulls first`
    : sql`${term} nulls last`;
}

/** The terms of an order, of which the key is the last. @throws RequestError 400 with 1810 */
export function orderTerms(
  context: QueryContext,
  from: From,
  items: readonly OrderItem[],
  names?: NameScope,
): readonly OrderTerm[] {
  const terms: OrderTerm[] = [];
  let isTotal = false;
  for (const item of items) {
    const { source, attribute, properties } = orderedAttribute(from, item, names);
    const { descending } = item;
    if (attribute.type === 'vector') {
      const value = similarityOrder(context, source, attribute.name, item);
      terms.push({ value, descending, isNullGreatest: true });
      continue;
    }
    const values =
      properties.length === 0
        ? [comparableColumn(context.dialect, source, attribute)]
        : propertyValues(context, source, attribute, properties);
    const isNeverNull = properties.length === 0 && hasNoNull(from, source, attribute);
    const own = properties.length === 0 ? attribute : undefined;
    terms.push(...values.map((value) => ({ value, descending, isNeverNull, attribute: own })));
    isTotal ||= source === from.root && attribute === from.root.dataclass.key;
  }
  if (!isTotal) {
    const value = keyOrder(context, from.root);
    const { key: attribute } = from.root.dataclass;
    terms.push({ value, descending: false, isNeverNull: true, attribute });
  }
  return terms;
}

/** A joined table may have no row, and the index of a text has a NULLS clause: its column may hold no folded text yet. */
function hasNoNull(from: From, source: Source, attribute: ColumnDefinition): boolean {
  if (source !== from.root || attribute.kind !== 'storage') return false;
  if (attribute.type === 'string') return false;
  return attribute.key === true || attribute.mandatory === true;
}

function propertyValues(
  { dialect }: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
  properties: readonly string[],
): readonly Sql[] {
  const document = objectDocument(dialect, source, attribute);
  return propertyOrder(dialect, dialect.json.property(document, properties));
}

interface OrderedAttribute {
  readonly source: Source;
  readonly attribute: ColumnDefinition;
  /** Set if the attribute is an object. */
  readonly properties: readonly string[];
}

function orderedAttribute(
  from: From,
  { path, place, names: own }: OrderItem,
  names: NameScope | undefined,
): OrderedAttribute {
  const text = path.join('.');
  const resolved = resolvePath(from.root.dataclass, path, own ?? names);
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
  if (end.kind === 'computed') {
    const lack = end.accessors.includes('orderBy')
      ? 'is not asked about it here'
      : 'has no accessor "orderBy" for it';
    const problem = `class code computes ${text}, and ${lack}`;
    throw refuse('orderBy', `${place}: ${problem}.`);
  }
  if (end.kind === 'relatedEntities' || relations.some((each) => each.kind !== 'relatedEntity')) {
    const problem = `${text} leads over a to-many relation, which gives no order`;
    throw refuse('orderBy', `${place}: ${problem}.`);
  }
  const last = followAll(from, from.root, relations as readonly RelatedEntityDefinition[]);
  const { source, attribute } =
    end.kind === 'relatedEntity' ? relatedKeyOf(from, last, end) : { source: last, attribute: end };
  if (from.joinCount > maxJoins) {
    const problem = `the filter and the order follow more than ${maxJoins} to-one relations`;
    throw refuse('orderBy', `${place}: ${problem} up to here.`);
  }
  if (properties.length === 0 && unordered.has(attribute.type)) {
    const problem = `${text} is of the type ${attribute.type}, which has no order`;
    throw refuse('orderBy', `${place}: ${problem}.`);
  }
  return { source, attribute, properties };
}

const unordered: ReadonlySet<string> = new Set(['object', 'image', 'blob']);

/**
 * Grows as the similarity to the filter's vector falls (protocol P3.16), to about six digits. @throws RequestError
 * 400 with 1810
 */
function similarityOrder(
  { similarities }: QueryContext,
  source: Source,
  attribute: string,
  { path }: OrderItem,
): Sql {
  const rank = similarities.rankOf(source, attribute);
  if (rank === undefined) {
    const name = path.join('.');
    throw refuse(
      'orderBy',
      `${name} is a vector, which gives an order only by its similarity to another one: add a comparison such as ${name} >= :1 to $filter.`,
    );
  }
  return rank;
}
