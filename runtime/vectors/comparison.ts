import { type Metric, metrics, type VectorComparison } from '../protocol/vector.js';

/** A comparison object, or why it is none: the predicate of a sentence about the value. */
export type ReadVectorComparison =
  { readonly comparison: VectorComparison } | { readonly problem: string };

const defaultMetric: Metric = 'cosine';
const defaultThreshold = 0.5;

/** Members of a comparison object. */
const members: ReadonlySet<string> = new Set(['vector', 'metric', 'threshold']);

/**
 * Reads what a vector attribute is compared with: `{"vector":[1,0,0],"metric":"dot","threshold":0.4}` (specification, "Vector
 * comparison"; protocol 22.2). Case does not matter in the name of a metric. Members that have no meaning are refused, since a
 * misspelt `threshold` would otherwise compare with another one.
 *
 * @param dimensions how many numbers the attribute's vectors have
 */
export function readVectorComparison(value: unknown, dimensions: number): ReadVectorComparison {
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
  return { comparison: { vector, metric: known, threshold } };
}

function refused(problem: string): ReadVectorComparison {
  return { problem };
}

function isNumberList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isFiniteNumber);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
