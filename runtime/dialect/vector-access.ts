import type { VectorComparison } from '../protocol/vector.js';
import type { SqlValue } from './statement.js';
import type { Sql } from './sql.js';

/** How a statement compares vectors. Servers of models without vectors do not carry what does. */
export interface VectorAccess {
  /**
   * Reads what a request compares vectors with.
   * @param dimensions how many numbers the attribute's vectors have
   */
  read(value: unknown, dimensions: number): ReadVector;
  /**
   * How the scores of stored vectors compare with the threshold of a bound comparison.
   * @param take binds what is made of the comparison
   */
  compare(stored: StoredVector, take: TakeSlot): ComparedVector;
}

/** What a vector is compared with, or why it cannot be: the predicate of a sentence about the value. */
export type ReadVector = { readonly values: VectorValues } | { readonly problem: string };

/** @param purpose a name for what is bound; the same one is bound once */
export type TakeSlot = (purpose: string, value: (values: VectorValues) => SqlValue) => Sql;

/** A vector attribute in a statement. */
export interface StoredVector {
  /** As JSON. */
  readonly vector: Sql;
  /** Null where none is stored. */
  readonly norm: Sql;
  /** Its direction. */
  readonly unit: Sql;
  readonly dimensions: number;
  /** A direction as the column has it. */
  readonly direction: (numbers: readonly number[]) => SqlValue;
}

export interface ComparedVector {
  /** 1 above the threshold, 0 equal, -1 below, null where there is no score. */
  readonly order: Sql;
  /** An expression that grows as the similarity falls; null if there is no score. */
  readonly rank: () => Sql;
}

/**
 * What a statement binds for one comparison with a vector. `norm` is that of a stored vector, `distance` the distance of its
 * direction from the given one's: what decides every metric.
 */
export interface VectorValues {
  readonly given: VectorComparison;
  /** Of the given vector. */
  readonly norm: number;
  /** The given vector's direction; null where it has none. */
  readonly unit: readonly number[] | null;
  /** The square of the distance at which the score is the threshold: `constant + perNorm / norm + timesNorm * norm`. */
  readonly limit: Linear;
  /** How far rounding may put the limit off, in the same form. */
  readonly slack: Linear;
  /** How the score of a vector compares with the threshold whose distance is smaller than the limit: 1 above, -1 below. */
  readonly nearer: 1 | -1;
  /**
   * Grows as similarity falls: `distance² * (perSquare + perSquareNorm * norm) + norm * (perNorm + perNormSquared * norm)`,
   * `zero` taking the place of `distance²` for a zero vector.
   */
  readonly rank: {
    readonly perSquare: number | null;
    readonly perSquareNorm: number;
    readonly perNorm: number;
    readonly perNormSquared: number;
    readonly zero: 0 | null;
  };
}

/** Null where a score needs a closer look whatever the distance is. */
export interface Linear {
  readonly constant: number | null;
  readonly perNorm: number | null;
  readonly timesNorm: number | null;
}
