import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { column, type Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import type { TakeSlot, VectorAccess, VectorValues } from '../dialect/vector-access.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { RequestError } from '../protocol/errors.js';
import type { Comparator, ComparisonNode } from './ast.js';
import { type OrderComparator, orders, wrongComparator, written } from './comparing.js';
import type { FilterContext } from './context.js';
import { filterError } from './filter-error.js';
import { placeholderName } from './placeholder.js';
import type { FilterInput } from './slots.js';

/**
 * Compares the score of a vector with a threshold (specification, "Vector comparison"; protocol 22.2).
 * Null has no score, nor has a zero vector a cosine: no comparison holds for them.
 *
 * @param input position of the comparison's value among the filter's inputs
 * @throws RequestError 400 with 1112 for another comparator; 1280 where a value is bound that is no comparison object
 */
export function vectorCondition(
  context: FilterContext,
  source: Source,
  attribute: ColumnDefinition,
  node: ComparisonNode,
  input: number,
): Sql {
  const { vectors, direction } = context.dialect;
  if (vectors === undefined) throw new Error('The server has nothing that compares vectors.');
  const { columns, dimensions } = storedVector(attribute);
  const comparator = orders[orderOf(node)];
  const stored = {
    vector: column(source, attribute.column),
    norm: column(source, columns.norm),
    unit: column(source, columns.unit),
    dimensions,
    direction,
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
  // Each request brings an object of its own, from which many values are made.
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

const orderComparators: ReadonlySet<Comparator> = new Set<Comparator>(['<', '<=', '>', '>=']);

function orderOf(node: ComparisonNode): OrderComparator {
  const { comparator } = node;
  if (orderComparators.has(comparator)) return comparator as OrderComparator;
  const problem = `${comparator} does not apply to the vector attribute ${written(node)}`;
  throw wrongComparator(node, `${problem}: expected <, <=, > or >=, or = null or != null`);
}

function storedVector(attribute: ColumnDefinition): {
  readonly columns: NonNullable<StorageDefinition['vectorColumns']>;
  readonly dimensions: number;
} {
  if (attribute.kind === 'storage') {
    const { vectorColumns, dimensions } = attribute;
    if (vectorColumns !== undefined && dimensions !== undefined) {
      return { columns: vectorColumns, dimensions };
    }
  }
  throw new Error(`The definition of the vector ${attribute.name} is not complete.`);
}
