import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { comparableColumn, nullableColumn } from '../dataclass/comparable.js';
import type { Source } from '../dataclass/dataclasses.js';
import { column } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import { type ValueType, valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StorageType } from '../protocol/storage-type.js';
import type { Comparator, ComparisonNode } from './ast.js';
import { type FilterContext, always, never, not } from './context.js';
import { incomparable, type PendingComparison } from './resolve.js';
import {
  valueCondition,
  wantedValue,
  attributeValue,
  takesPattern,
  wrongComparator,
  written,
  orders,
} from './value-condition.js';
import type { TakeSlot, VectorAccess, VectorValues } from '../dialect/vector-access.js';
import type { RequestError } from '../protocol/errors.js';
import { filterError } from './lexer.js';
import { placeholderName } from './params.js';
import type { Convert, FilterInput } from './slots.js';

/** A comparison at the end of its path. */
type Comparison = Pick<PendingComparison, 'node' | 'comparator' | 'end'>;

/** One comparison with an attribute as SQL; null compares as filters F36 says. */
export function condition(context: FilterContext, source: Source, comparison: Comparison): Sql {
  const { node, comparator } = comparison;
  const attribute = comparedAttribute(source, comparison);
  context.compared?.(node, source, attribute);
  const { type } = attribute;
  const input = context.inputs.get(node);
  if (type === 'vector' && input !== undefined && !context.nulls.has(input)) {
    return vectorCondition(context, source, attribute, node, input);
  }
  return typedCondition(context, comparison, {
    type,
    value: comparableColumn(context.dialect, source, attribute),
    nullable: nullableColumn(source, attribute),
    convert: attributeValue(context, attribute, comparator),
  });
}

/** What a comparison with a value of one type compares. */
export interface ComparedValue {
  readonly type: StorageType;
  /** That of the type if left out. */
  readonly valueType?: ValueType;
  /** Folded if it is a text. */
  readonly value: Sql;
  /** Null if the value is; `value` if left out. */
  readonly nullable?: Sql;
  /** Makes the bound value. */
  readonly convert: Convert;
}

/** One comparison as SQL. */
export function typedCondition(
  context: FilterContext,
  comparison: Pick<Comparison, 'node' | 'comparator'>,
  compared: ComparedValue,
): Sql {
  const { node, comparator } = comparison;
  const { type, value, nullable = value, convert } = compared;
  const input = context.inputs.get(node);
  if (input === undefined || (context.nulls.has(input) && comparator !== 'in')) {
    return nullCondition(nullable, comparison);
  }
  checkComparator(compared, comparison);
  if (context.mismatched.has(input)) return comparator === '!=' ? always : never;
  const isPattern = type === 'string' && takesPattern(context, node, input);
  const valueType = compared.valueType ?? valueTypeOf(type);
  const operand = { input, kind: 'value', type: valueType, convert, isPattern };
  switch (comparator) {
    case '===':
    case '!==':
      throw new Error(`${comparator} is written as another comparator.`);
    case '!=':
      return isPattern
        ? not(valueCondition(context, value, '=', operand))
        : context.dialect.compare(value, '!=', wantedValue(context, operand), valueType);
    case 'in': {
      const isMember = valueCondition(context, value, comparator, operand);
      return context.nulls.has(input) ? sql`(${isMember} or ${nullable} is null)` : isMember;
    }
    case '=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'begin':
    case 'contains':
    case '%':
      return valueCondition(context, value, comparator, operand);
  }
}

/** A to-one relation is compared by its key. */
function comparedAttribute(source: Source, { end, node }: Comparison): ColumnDefinition {
  if (end.kind === 'relatedEntity') return source.dataclass.foreignKey(end);
  if (end.kind === 'relatedEntities') {
    throw wrongComparator(node, `the to-many relation ${written(node)} has no value of its own`);
  }
  if (end.kind === 'computed') throw incomparable(node);
  return end;
}

function nullCondition(
  value: Sql,
  { node, comparator }: Pick<Comparison, 'node' | 'comparator'>,
): Sql {
  const isNull = sql`${value} is null`;
  if (comparator === '=') return isNull;
  if (comparator === '!=') return sql`not (${isNull})`;
  throw wrongComparator(node, 'null is compared with = or != only');
}

/** The types whose values have an order. */
const orderedTypes: ReadonlySet<StorageType> = new Set<StorageType>([
  'string',
  'uuid',
  'number',
  'integer',
  'decimal',
  'date',
  'duration',
]);

function applies(comparator: Comparator, type: StorageType): boolean {
  if (comparator in orders) return orderedTypes.has(type);
  const isOfTexts = comparator === 'begin' || comparator === 'contains' || comparator === '%';
  return !isOfTexts || type === 'string';
}

/** @throws RequestError 400 with 1112 for a comparator that does not apply to values of the type */
export function checkComparator(
  { type }: { readonly type: StorageType },
  { node, comparator }: Pick<Comparison, 'node' | 'comparator'>,
): void {
  const name = written(node);
  if (type === 'object') {
    const problem = `the object attribute ${name} can be compared with null only; its properties`;
    throw wrongComparator(node, `${problem} can be compared, ${name}.<property> for instance`);
  }
  if (type === 'image' || type === 'blob') {
    throw wrongComparator(node, `the ${type} attribute ${name} can be compared with null only`);
  }
  if (!applies(comparator, type)) {
    throw wrongComparator(node, `${comparator} does not apply to the ${type} attribute ${name}`);
  }
}

/** Compares a vector's score with a threshold (filters F25); null and a zero vector's cosine match nothing (filters F27). */
function vectorCondition(
  context: FilterContext,
  source: Source,
  attribute: ColumnDefinition,
  node: ComparisonNode,
  input: number,
): Sql {
  const { vectors } = context.dialect;
  if (vectors === undefined) throw new Error('The server has nothing that compares vectors.');
  const { columns, dimensions } = storedVector(attribute);
  const comparator = orderOf(node);
  const stored = {
    vector: column(source, columns.vector),
    norm: column(source, columns.norm),
    unit: column(source, columns.unit),
    dimensions,
  };
  const take = slotsOf(context, vectors, node, input, dimensions);
  const { order, rank } = vectors.compare(stored, take);
  context.similarities.note(source, attribute, input, rank);
  return sql`${order} ${comparator} 0`;
}

function slotsOf(
  { slots }: FilterContext,
  vectors: VectorAccess,
  node: ComparisonNode,
  input: number,
  dimensions: number,
): TakeSlot {
  const name = written(node);
  // Several values of a statement are made from the same object, which is read once.
  const made = new WeakMap<object, VectorValues>();
  const valuesOf = (given: FilterInput): VectorValues => {
    const { value } = given;
    const key = typeof value === 'object' && value !== null ? value : undefined;
    const known = key && made.get(key);
    if (known !== undefined) return known;
    const read = vectors.read(value, dimensions);
    if ('problem' in read) throw noComparison(given, name, read.problem);
    if (key !== undefined) made.set(key, read.values);
    return read.values;
  };
  return (purpose, value) =>
    sql`${slots.take(input, `vector ${purpose}`, (given) => value(valuesOf(given)))}`;
}

function noComparison(
  { placeholder, start = 0 }: FilterInput,
  attribute: string,
  problem: string,
): RequestError {
  if (placeholder === undefined) {
    return filterError(
      start,
      `the vector attribute ${attribute} is compared with a placeholder such as :1, whose value in $params ${problem}`,
      'placeholderType',
    );
  }
  const value = `the value of :${placeholderName(placeholder)} in $params`;
  return filterError(placeholder.start, `${value} ${problem}`, 'placeholderType');
}

function orderOf(node: ComparisonNode): Sql {
  const { comparator } = node;
  const order = orders[comparator];
  if (order !== undefined) return order;
  const problem = `${comparator} does not apply to the vector attribute ${written(node)}`;
  throw wrongComparator(node, `${problem}: expected <, <=, > or >=, or = null or != null`);
}

function storedVector(attribute: ColumnDefinition): {
  readonly columns: NonNullable<StorageDefinition['vectorColumns']> & { readonly vector: string };
  readonly dimensions: number;
} {
  if (attribute.kind === 'storage') {
    const { vectorColumns, dimensions } = attribute;
    if (vectorColumns !== undefined && dimensions !== undefined) {
      return { columns: { ...vectorColumns, vector: attribute.column }, dimensions };
    }
  }
  throw new Error(`The definition of the vector ${attribute.name} is not complete.`);
}
