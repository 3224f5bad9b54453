import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Slot } from '../dialect/statement.js';
import { type Dataclass, isReadFromTarget, type Source } from './dataclasses.js';
import { type ColumnDefinition, relationsInPath } from './attribute-path.js';
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
  return sql`(${writtenAggregates(source, [attribute], 'compared')})`;
}

/** Aggregates as they are shown, each computed once, however often a statement names its value. */
export interface ShownAggregates {
  /** The FROM clause in which the values are. */
  readonly from: Sql;
  /** A decimal is a text with all its digits. */
  readonly values: ReadonlyMap<AggregateDefinition, Sql>;
}

/**
 * Writes aggregates, of which those over the same related entities share one search.
 * @param attributes at least one
 */
export function shownAggregates(
  dialect: Pick<Dialect, 'decimalText'>,
  source: Source,
  attributes: readonly AggregateDefinition[],
): ShownAggregates {
  const searches = new Map<string, AggregateDefinition[]>();
  for (const attribute of attributes) {
    const name = relatedBy(source.dataclass, attribute);
    const known = searches.get(name);
    if (known === undefined) searches.set(name, [attribute]);
    else known.push(attribute);
  }
  const values = new Map<AggregateDefinition, Sql>();
  const tables = [...searches.values()].map((searched) => {
    const alias = source.aliases.next();
    for (const [index, attribute] of searched.entries()) {
      const { aggregate, type, scale = 0 } = attribute;
      const found = sql`${sql.id(alias, `value${index}`)}`;
      const isColumn = type === 'decimal' && (aggregate === 'min' || aggregate === 'max');
      values.set(attribute, isColumn ? dialect.decimalText(found, scale) : found);
    }
    return sql`(${writtenAggregates(source, searched, 'shown')}) as ${sql.id(alias)}`;
  });
  return { from: sql`from ${sql.join(tables)}`, values };
}

/** An aggregate by itself: see {@link shownAggregates}. */
export function shownAggregate(
  dialect: Pick<Dialect, 'decimalText'>,
  source: Source,
  attribute: AggregateDefinition,
): { readonly from: Sql; readonly value: Sql } {
  const { from, values } = shownAggregates(dialect, source, [attribute]);
  return { from, value: values.get(attribute) as Sql };
}

/** Names the related entities of an aggregate. */
function relatedBy(dataclass: Dataclass, { path, filter }: AggregateDefinition): string {
  const { length } = relationsInPath(dataclass, path);
  return JSON.stringify([path.slice(0, length), filter]);
}

function writtenAggregates(
  source: Source,
  attributes: readonly AggregateDefinition[],
  form: 'compared' | 'shown',
): Sql {
  const { aggregates, name } = source.dataclass;
  if (aggregates === undefined) throw new Error(`The aggregates of ${name} cannot be read here.`);
  return aggregates(source, attributes, form);
}

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
