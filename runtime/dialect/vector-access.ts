import type { Sql } from './sql.js';

/** How a statement compares vectors. */
export interface VectorAccess {
  /**
   * The Euclidean distance of a stored vector of norm 1 and a bound one, computed with single precision; null where none is
   * stored.
   * @param dimensions how many numbers both have
   */
  unitDistance(unit: Sql, given: Sql, dimensions: number): Sql;
  /**
   * How the score of a stored vector compares with a threshold: 1 above, 0 equal, -1 below, null where there is no score.
   * Computed with double precision, which costs about as much as a hundred times {@link VectorAccess.unitDistance}.
   * @param vector the JSON of a stored vector
   * @param comparison the JSON of a bound {@link file://../protocol/vector.ts VectorComparison}
   */
  compareScore(vector: Sql, comparison: Sql): Sql;
  square(value: Sql): Sql;
  squareRoot(value: Sql): Sql;
  /** Zero instead of a negative number; null stays null. */
  notNegative(value: Sql): Sql;
}
