import type { VectorComparison } from '../protocol/vector.js';
import type { Sql, SqlValue } from './statement.js';

/** Compares vectors in SQL. Servers of models without vectors do not include the implementation. */
export interface VectorAccess {
  /** Reads the vector of a request. */
  read(value: unknown, dimensions: number): ReadVector;
  /** Compares scores of stored vectors with a threshold; `take` binds what is derived from the comparison. */
  compare(stored: StoredVector, take: TakeSlot): ComparedVector;
}

/** The vector of a request, or why it is invalid: the predicate of a sentence about the value. */
export type ReadVector = { readonly values: VectorValues } | { readonly problem: string };

/** @param purpose identifies the bound value; the same purpose is bound once */
export type TakeSlot = (purpose: string, value: (values: VectorValues) => SqlValue) => Sql;

/** The columns of a vector attribute in a statement. */
export interface StoredVector {
  /** The vector as JSON. */
  readonly vector: Sql;
  /** Null if no vector is stored. */
  readonly norm: Sql;
  /** The direction of the vector. */
  readonly unit: Sql;
  readonly dimensions: number;
}

export interface ComparedVector {
  /** 1 above the threshold, 0 equal, -1 below, null without a score. */
  readonly order: Sql;
  /** An expression that grows as the similarity falls; null without a score. */
  readonly rank: () => Sql;
}

/** What one comparison binds. Every metric follows from the stored `norm` and the distance of the directions. */
export interface VectorValues {
  readonly given: VectorComparison;
  /** The norm of the given vector. */
  readonly norm: number;
  /** The direction of the given vector; null for a zero vector. */
  readonly unit: readonly number[] | null;
  /** The squared distance at which the score equals the threshold: `constant + perNorm / norm + timesNorm * norm`. */
  readonly limit: Linear;
  /** The rounding error of the limit, in the same form. */
  readonly slack: Linear;
  /** The order of scores whose distance is below the limit: 1 if they are above the threshold, -1 if below. */
  readonly nearer: 1 | -1;
  /** `distance² * (perSquare + perSquareNorm * norm) + norm * (perNorm + perNormSquared * norm)`, `zero` for a zero vector. */
  readonly rank: {
    readonly perSquare: number | null;
    readonly perSquareNorm: number;
    readonly perNorm: number;
    readonly perNormSquared: number;
    readonly zero: 0 | null;
  };
}

/** Null if the score needs an exact computation at any distance. */
export interface Linear {
  readonly constant: number | null;
  readonly perNorm: number | null;
  readonly timesNorm: number | null;
}
