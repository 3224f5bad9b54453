import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Slot } from '../dialect/statement.js';
import {
  type Dataclass,
  isReadFromTarget,
  type Source,
  type WriteAggregate,
} from './dataclasses.js';
import type { ColumnDefinition } from './attribute-path.js';
import { column, type From } from './source.js';
import type { JsonPlace } from '../dialect/json-access.js';
import type {
  AggregateDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';

/** The value of an attribute in its column, or that of an aggregate as a column would have it. */
export function attributeColumn(source: Source, attribute: ColumnDefinition): Sql {
  if (attribute.kind !== 'aggregate') return column(source, attribute.column);
  return sql`(${writeAggregate(source, attribute, 'compared')})`;
}

/**
 * An aggregate as it is shown: a FROM clause, and the value in it; a decimal as text with all its digits. So it is
 * computed once, however often a statement names the value.
 */
export function shownAggregate(
  dialect: Pick<Dialect, 'decimalText'>,
  source: Source,
  attribute: AggregateDefinition,
): { readonly from: Sql; readonly value: Sql } {
  const { aggregate, type, scale = 0 } = attribute;
  const alias = source.aliases.next();
  const found = sql`${sql.id(alias, 'value')}`;
  const isColumn = type === 'decimal' && (aggregate === 'min' || aggregate === 'max');
  return {
    from: sql`from (${writeAggregate(source, attribute, 'shown')}) as ${sql.id(alias)}`,
    value: isColumn ? dialect.decimalText(found, scale) : found,
  };
}

const writeAggregate: WriteAggregate = (source, attribute, form) => {
  const { aggregate, name } = source.dataclass;
  if (aggregate === undefined) throw new Error(`The aggregates of ${name} cannot be read here.`);
  return aggregate(source, attribute, form);
};

/**
 * A column in the form of comparisons and orders: text is folded, by its folded column if it has
 * one.
 */
export function comparableColumn(
  dialect: Dialect,
  source: Source,
  attribute: ColumnDefinition,
): Sql {
  if (attribute.type !== 'string') return attributeColumn(source, attribute);
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return folded === undefined
    ? dialect.fold(attributeColumn(source, attribute))
    : column(source, folded);
}

/** A key in the form of {@link comparableColumn}. */
export function comparableKey(
  { key: { type } }: Dataclass,
  { foldText }: Pick<Dialect, 'foldText'>,
  key: string | number,
): string | number {
  return type === 'string' ? foldText(String(key)) : key;
}

/**
 * A bound value in the form of its column.
 * @param attribute none for a column of the server itself
 */
export function boundValue(
  { bound }: Pick<Dialect, 'bound'>,
  attribute: Pick<StorageDefinition, 'type'> | undefined,
  slot: Slot,
): Sql {
  const value = sql`${slot}`;
  return attribute?.type === 'decimal' ? bound(value, 'decimal') : value;
}

/** A column that is null if the attribute is, and that an index serves if there is one. */
export function nullableColumn(source: Source, attribute: ColumnDefinition): Sql {
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return folded === undefined ? attributeColumn(source, attribute) : column(source, folded);
}

/** The document of an object attribute; an expression may yield something else. */
export function objectDocument(dialect: Dialect, source: Source, attribute: ColumnDefinition): Sql {
  const value = attributeColumn(source, attribute);
  return attribute.kind === 'expression' ? dialect.json.ifJson(value) : value;
}

/**
 * The sort keys of properties, most significant first: null, arrays and objects, then false, true,
 * numbers and texts (protocol P3.15).
 */
export function propertyOrder(dialect: Dialect, place: JsonPlace): readonly Sql[] {
  const rank = dialect.json.byKind(place, { boolean: sql`0`, number: sql`1`, text: sql`2` });
  return dialect.json.ranked(rank, place.value, (text) => dialect.fold(text));
}

/**
 * The place from which the related key of a to-one relation is read: the foreign key or, if that may
 * lead nowhere or holds another value, the target itself, so that a relation to a hidden entity is null
 * (`access.md#restrict`).
 */
export function relatedKeyOf(
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
): { readonly source: Source; readonly attribute: StorageDefinition; readonly isJoined: boolean } {
  const { dataclass } = source;
  if (!isReadFromTarget(dataclass, relation)) {
    return { source, attribute: dataclass.foreignKey(relation), isJoined: false };
  }
  const { key } = dataclass.target(relation);
  return { source: from.follow(source, relation), attribute: key, isJoined: true };
}
