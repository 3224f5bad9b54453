import type { Linear, ReadVector, VectorValues } from '../dialect/vector-access.js';
import {
  directionOf,
  normOf,
  type VectorComparison,
  type Metric,
  metrics,
} from '../protocol/vector.js';
/** Covers the rounding errors of norms and limits, and the tolerance of scores: {@link scoreTolerance}. */
const relativeSlack = 1e-11;

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
      // No distance is below 0; the score itself distinguishes vectors at distance 0.
      const most = Math.max(0, threshold);
      const rank = { ...noRank, perSquareNorm: norm, perNorm: -2 * norm, perNormSquared: 1 };
      if (norm === 0) {
        // Then the distance of the directions is 1, and that of the vectors is the norm.
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

/** @param size of each coefficient: of the numbers it is computed from */
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

/** A number beyond a double is unknown. */
function known(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

const defaultMetric: Metric = 'cosine';
const defaultThreshold = 0.5;

/** Members of a comparison object. */
const members: ReadonlySet<string> = new Set(['vector', 'metric', 'threshold']);

/**
 * Reads what a vector attribute is compared with:
 * `{"vector":[1,0,0],"metric":"dot","threshold":0.4}` (filters F25). Case does not matter in the
 * name of a metric. Members without a meaning are refused, because a misspelt `threshold` would
 * otherwise be replaced by the default.
 *
 * @param dimensions how many numbers the attribute's vectors have
 */
export function readVector(value: unknown, dimensions: number): ReadVector {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused(
      `must be an object such as {"vector":[…],"metric":"cosine","threshold":0.5} with a vector of ${dimensions} numbers`,
    );
  }
  const unknown = Object.keys(value).find((name) => !members.has(name));
  if (unknown !== undefined) {
    return refused(
      `has a member ${JSON.stringify(unknown)}, which has no meaning: expected vector, metric and threshold`,
    );
  }
  const {
    vector,
    metric = defaultMetric,
    threshold = defaultThreshold,
  } = value as Readonly<Record<string, unknown>>;
  if (!isNumberList(vector)) return refused(`must have a vector, a list of ${dimensions} numbers`);
  if (vector.length !== dimensions) {
    return refused(`has a vector of ${vector.length} numbers, expected ${dimensions}`);
  }
  const known = metrics.find((each) => typeof metric === 'string' && each === metric.toLowerCase());
  if (known === undefined) {
    return refused(`has the metric ${JSON.stringify(metric)}, expected cosine, dot or euclidean`);
  }
  if (!isFiniteNumber(threshold)) {
    return refused(`has the threshold ${JSON.stringify(threshold)}, expected a number`);
  }
  return { values: vectorValues({ vector, metric: known, threshold }) };
}

function refused(problem: string): ReadVector {
  return { problem };
}

function isNumberList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isFiniteNumber);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
