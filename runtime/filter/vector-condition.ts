import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { column, type Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import type { ComparedVector, ExactVectors, RoundedVectors } from '../dialect/vector-access.js';
import type { SqlValue } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { RequestError } from '../protocol/errors.js';
import { readVectorComparison } from '../protocol/vector-comparison.js';
import type { Comparator, ComparisonNode } from './ast.js';
import { type OrderComparator, orders, wrongComparator, written } from './comparing.js';
import type { FilterContext } from './context.js';
import { filterError } from './filter-error.js';
import { placeholderName } from './placeholder.js';
import type { FilterInput } from './slots.js';
import { type VectorValues, vectorValues } from './vector-values.js';

/** Bounds on what single precision does to a distance of directions; each of both is rounded once, … */
const directionError = 3e-7;

/** … and summing up loses at most half a unit of the last place for each number. */
function sumError(dimensions: number): number {
  return (dimensions / 2 + 4) * 2 ** -24 * 1.01;
}

/**
 * Compares the score of a vector with a threshold (specification, "Vector comparison"; protocol 22.2). The distance of the
 * directions, which the database computes natively with single precision, tells nearly always how; the few scores that it
 * puts too close to the threshold are computed with double precision. So the outcome is that of doubles.
 *
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
  const { vectors } = context.dialect;
  const { columns, dimensions } = storedVector(attribute);
  const order = sql`${orders[orderOf(node)]} 0`;
  const slot = slotsOf(context, node, input, dimensions);
  const norm = column(source, columns.norm);
  if (vectors.precision === 'double') {
    const vector = comparedVector(vectors, slot, norm, column(source, columns.unit));
    context.similarities.note(source, attribute, input, () => vectors.rank(vector));
    return sql`${vectors.compareScore(vector)} ${order}`;
  }
  const distance = vectors.unitDistance(
    column(source, columns.unit),
    slot('unit', ({ unit, given }) => vectors.direction(unit ?? given.vector)),
    dimensions,
  );
  const linear = (name: 'limit' | 'slack'): Sql => {
    const constant = slot(`${name} constant`, (values) => values[name].constant);
    const perNorm = slot(`${name} per norm`, (values) => values[name].perNorm);
    const timesNorm = slot(`${name} times norm`, (values) => values[name].timesNorm);
    return sql`(${constant} + ${perNorm} / ${norm} + ${timesNorm} * ${norm})`;
  };
  const root = (square: Sql): Sql => vectors.squareRoot(vectors.notNegative(square));
  const least = root(sql`${linear('limit')} - ${linear('slack')}`);
  const most = root(sql`${linear('limit')} + ${linear('slack')}`);
  const error = sumError(dimensions);
  const isFarther = sql`${distance} * ${sql.lit(1 - error)} > ${most} + ${sql.lit(directionError)}`;
  const isNearer = sql`${distance} * ${sql.lit(1 + error)} + ${sql.lit(directionError)} < ${least}`;
  const nearer = slot('nearer', (values) => values.nearer);
  const farther = slot('farther', (values) => -values.nearer);
  const exactly = vectors.compareScore(
    column(source, attribute.column),
    slot('comparison', ({ given }) => JSON.stringify(given)),
  );
  context.similarities.note(source, attribute, input, () => rank(vectors, slot, distance, norm));
  return sql`case when ${norm} is null then null when ${isFarther} then ${farther} when ${isNearer} then ${nearer} else ${exactly} end ${order}`;
}

/** Written where nothing is lost by computing with double precision. */
function comparedVector(
  vectors: ExactVectors,
  slot: TakeSlot,
  norm: Sql,
  unit: Sql,
): ComparedVector {
  return {
    norm,
    unit,
    givenNorm: slot('given norm', (values) => values.norm),
    givenUnit: slot('given unit', (values) =>
      values.unit === null ? null : vectors.direction(values.unit),
    ),
    metric: slot('metric', ({ given }) => given.metric),
    threshold: slot('threshold', ({ given }) => given.threshold),
  };
}

type TakeSlot = (purpose: string, value: (values: VectorValues) => SqlValue) => Sql;

/** What grows as similarity falls; null where there is no score. */
function rank(vectors: RoundedVectors, slot: TakeSlot, distance: Sql, norm: Sql): Sql {
  const zero = slot('rank zero', (values) => values.rank.zero);
  const perSquare = slot('rank per square', (values) => values.rank.perSquare);
  const perSquareNorm = slot('rank per square and norm', (values) => values.rank.perSquareNorm);
  const perNorm = slot('rank per norm', (values) => values.rank.perNorm);
  const perNormSquared = slot('rank per norm squared', (values) => values.rank.perNormSquared);
  const squared = sql`coalesce(${vectors.square(distance)}, ${zero})`;
  return sql`(${squared} * (${perSquare} + ${perSquareNorm} * ${norm}) + ${norm} * (${perNorm} + ${perNormSquared} * ${norm}))`;
}

function slotsOf(
  { slots }: FilterContext,
  node: ComparisonNode,
  input: number,
  dimensions: number,
): TakeSlot {
  const name = written(node);
  // Each request brings an object of its own, from which many values are made.
  const made = new WeakMap<object, VectorValues>();
  const valuesOf = (given: FilterInput): VectorValues => {
    const { value } = given;
    if (typeof value !== 'object' || value === null) return valuesFrom(given, name, dimensions);
    const known = made.get(value);
    if (known !== undefined) return known;
    const values = valuesFrom(given, name, dimensions);
    made.set(value, values);
    return values;
  };
  return (purpose, value) =>
    sql`${slots.take(input, `vector ${purpose}`, (given) => value(valuesOf(given)))}`;
}

function valuesFrom(given: FilterInput, attribute: string, dimensions: number): VectorValues {
  const read = readVectorComparison(given.value, dimensions);
  if ('comparison' in read) return vectorValues(read.comparison);
  throw noComparison(given, attribute, read.problem);
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
