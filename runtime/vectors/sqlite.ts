import { sql } from 'kysely';
import type { Sql } from '../dialect/statement.js';
import type {
  ComparedVector,
  StoredVector,
  TakeSlot,
  VectorAccess,
} from '../dialect/vector-access.js';
import { singlePrecision } from '../protocol/vector.js';
import { readVector } from './values.js';

/** Bounds of the error that single precision causes in a distance of directions; each number is rounded once, … */
const directionError = 3e-7;

/** … and the sum loses at most half a unit of the last place for each number. */
function sumError(dimensions: number): number {
  return (dimensions / 2 + 4) * 2 ** -24 * 1.01;
}

/**
 * Uses the functions of {@link file://../dialect/sqlite/vector-extension.ts}. The distance of the
 * directions, which the database computes natively with single precision, nearly always decides how
 * a score compares with a threshold. The few scores that come too close to the threshold are
 * computed with double precision, which costs about a hundred times as much. So the result is that
 * of doubles.
 */
export const sqliteVectors: VectorAccess = { read: readVector, compare };

function compare(stored: StoredVector, take: TakeSlot): ComparedVector {
  const { vector, norm, unit, dimensions } = stored;
  const given = take('unit', (values) => singlePrecision(values.unit ?? values.given.vector));
  // The extension refuses null and vectors of different lengths; the length of a BLOB is known without reading it.
  const distance = sql`iif(length(${unit}) = ${sql.lit(dimensions * 4)}, vec_distance_L2(${unit}, ${given}), null)`;
  const linear = (name: 'limit' | 'slack'): Sql => {
    const constant = take(`${name} constant`, (values) => values[name].constant);
    const perNorm = take(`${name} per norm`, (values) => values[name].perNorm);
    const timesNorm = take(`${name} times norm`, (values) => values[name].timesNorm);
    return sql`(${constant} + ${perNorm} / ${norm} + ${timesNorm} * ${norm})`;
  };
  const root = (value: Sql): Sql => sql`sqrt(max(0.0, ${value}))`;
  const least = root(sql`${linear('limit')} - ${linear('slack')}`);
  const most = root(sql`${linear('limit')} + ${linear('slack')}`);
  const error = sumError(dimensions);
  const isFarther = sql`${distance} * ${sql.lit(1 - error)} > ${most} + ${sql.lit(directionError)}`;
  const isNearer = sql`${distance} * ${sql.lit(1 + error)} + ${sql.lit(directionError)} < ${least}`;
  const nearer = take('nearer', (values) => values.nearer);
  const farther = take('farther', (values) => -values.nearer);
  const comparison = take('comparison', (values) => JSON.stringify(values.given));
  const exactly = sql`drs_compare_score(${vector}, ${comparison})`;
  return {
    order: sql`case when ${norm} is null then null when ${isFarther} then ${farther} when ${isNearer} then ${nearer} else ${exactly} end`,
    rank: () => rank(take, distance, norm),
  };
}

/** An expression that grows as the similarity falls; null if there is no score. */
function rank(take: TakeSlot, distance: Sql, norm: Sql): Sql {
  const zero = take('rank zero', (values) => values.rank.zero);
  const perSquare = take('rank per square', (values) => values.rank.perSquare);
  const perSquareNorm = take('rank per square and norm', (values) => values.rank.perSquareNorm);
  const perNorm = take('rank per norm', (values) => values.rank.perNorm);
  const perNormSquared = take('rank per norm squared', (values) => values.rank.perNormSquared);
  const squared = sql`coalesce(pow(${distance}, 2), ${zero})`;
  return sql`(${squared} * (${perSquare} + ${perSquareNorm} * ${norm}) + ${norm} * (${perNorm} + ${perNormSquared} * ${norm}))`;
}
