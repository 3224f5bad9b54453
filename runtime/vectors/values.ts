import type { Linear, ReadVector, VectorValues } from '../dialect/vector-access.js';
import { directionOf, normOf, type VectorComparison } from '../protocol/vector.js';
import { readVectorComparison } from './comparison.js';

/** Covers what doubles lose in norms and limits, and the tolerance that scores have: {@link scoreTolerance}. */
const relativeSlack = 1e-11;

/** See {@link file://../dialect/vector-access.ts VectorAccess}. */
export function readVector(value: unknown, dimensions: number): ReadVector {
  const read = readVectorComparison(value, dimensions);
  return 'comparison' in read ? { values: vectorValues(read.comparison) } : read;
}

/**
 * With the directions `q` and `v`, `|q - v|² = 2 - 2 cos`. So the cosine is `1 - distance² / 2`, the dot product is that
 * times both norms, and the square of the Euclidean distance is `(|a| - |b|)² + |a| |b| distance²`.
 */
function vectorValues(comparison: VectorComparison): VectorValues {
  const { vector, metric, threshold } = comparison;
  const norm = normOf(vector);
  const common = {
    given: comparison,
    norm,
    unit: directionOf(vector),
  };
  switch (metric) {
    case 'cosine':
      return {
        ...common,
        nearer: 1,
        ...limits(norm === 0 ? Number.NaN : 2 - 2 * threshold, 2 + 2 * Math.abs(threshold)),
        rank: { ...noRank, perSquare: norm === 0 ? null : 1, zero: null },
      };
    case 'dot': {
      const perNorm = (-2 * threshold) / norm;
      return {
        ...common,
        nearer: 1,
        ...limits(2, 2, perNorm, Math.abs(perNorm)),
        rank: { ...noRank, perSquareNorm: norm / 2, perNorm: -norm },
      };
    }
    case 'euclidean': {
      // No vector is nearer than 0, and a look at the score itself tells those at 0 apart.
      const most = Math.max(0, threshold);
      const rank = { ...noRank, perSquareNorm: norm, perNorm: -2 * norm, perNormSquared: 1 };
      if (norm === 0) {
        // The distance of the directions is 1 then, that of the vectors the norm.
        return { ...common, nearer: -1, ...limits(0, 0, most, most), rank };
      }
      const perNorm = (most / norm - 1) * (most + norm);
      const perNormSize = (most / norm + 1) * (most + norm);
      return {
        ...common,
        nearer: -1,
        ...limits(2, 2, perNorm, perNormSize, -1 / norm, 1 / norm),
        rank,
      };
    }
  }
}

const noRank = { perSquare: 0, perSquareNorm: 0, perNorm: 0, perNormSquared: 0, zero: 0 } as const;

/** @param size of each coefficient: of the numbers that it was made from */
function limits(
  constant: number,
  constantSize: number,
  perNorm = 0,
  perNormSize = 0,
  timesNorm = 0,
  timesNormSize = 0,
): Pick<VectorValues, 'limit' | 'slack'> {
  return {
    limit: linear(constant, perNorm, timesNorm),
    slack: linear(
      constantSize * relativeSlack,
      perNormSize * relativeSlack,
      timesNormSize * relativeSlack,
    ),
  };
}

function linear(constant: number, perNorm: number, timesNorm: number): Linear {
  return { constant: known(constant), perNorm: known(perNorm), timesNorm: known(timesNorm) };
}

/** What is too large for a double is not known. */
function known(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
