import type { SqlValue } from './statement.js';
import type { Sql } from './sql.js';

/** How a statement compares vectors. */
export type VectorAccess = RoundedVectors | ExactVectors;

interface StoredDirections {
  /** A vector of norm 1 as the column beside a vector has it. */
  direction(numbers: readonly number[]): SqlValue;
}

/** A database that computes distances natively, with single precision. */
export interface RoundedVectors extends StoredDirections {
  readonly precision: 'single';
  /**
   * The Euclidean distance of a stored vector of norm 1 and a bound one, computed with single precision; null where none is
   * stored.
   * @param dimensions how many numbers both have
   */
  unitDistance(unit: Sql, given: Sql, dimensions: number): Sql;
  /**
   * How the score of a stored vector compares with a threshold: 1 above, 0 equal, -1 below, null where there is no score.
   * Computed with double precision, which costs about as much as a hundred times {@link RoundedVectors.unitDistance}.
   * @param vector the JSON of a stored vector
   * @param comparison the JSON of a bound {@link file://../protocol/vector.ts VectorComparison}
   */
  compareScore(vector: Sql, comparison: Sql): Sql;
  square(value: Sql): Sql;
  squareRoot(value: Sql): Sql;
  /** Zero instead of a negative number; null stays null. */
  notNegative(value: Sql): Sql;
}

/** A database whose doubles are as fast as anything that it has. */
export interface ExactVectors extends StoredDirections {
  readonly precision: 'double';
  /** How the score compares with the threshold: 1 above, 0 equal, -1 below, null where there is no score. */
  compareScore(vector: ComparedVector): Sql;
  /** What grows as similarity falls; null where there is no score. */
  rank(vector: ComparedVector): Sql;
}

/** A stored vector by its norm and its direction, and what is bound for the comparison with it. */
export interface ComparedVector {
  readonly norm: Sql;
  readonly unit: Sql;
  readonly givenNorm: Sql;
  /** Null for a zero vector, which points nowhere. */
  readonly givenUnit: Sql;
  readonly metric: Sql;
  readonly threshold: Sql;
}
