/** Ways to compare two vectors (filters F25). */
export const metrics = ['cosine', 'dot', 'euclidean'] as const;

export type Metric = (typeof metrics)[number];

/** The value that a filter compares a vector attribute with. */
export interface VectorComparison {
  readonly vector: readonly number[];
  readonly metric: Metric;
  readonly threshold: number;
}

/** Sums of squares in this range are not affected by the limits of a double. */
const leastSum = 1e-280;
const greatestSum = 1e300;

/** The Euclidean norm; infinite if a double cannot hold it. */
export function normOf(vector: readonly number[]): number {
  let sum = 0;
  for (const each of vector) sum += each * each;
  if (sum > leastSum && sum < greatestSum) return Math.sqrt(sum);
  const greatest = greatestOf(vector);
  if (greatest === 0 || greatest === Infinity) return greatest;
  return greatest * normOf(vector.map((each) => each / greatest));
}

/**
 * The vector of norm 1 in the direction of `vector`; `null` for a zero vector, which has no
 * direction.
 */
export function directionOf(vector: readonly number[]): readonly number[] | null {
  const greatest = greatestOf(vector);
  if (greatest === 0) return null;
  // The norm of a vector that is scaled like this cannot be infinite.
  const scaled = vector.map((each) => each / greatest);
  const norm = normOf(scaled);
  return scaled.map((each) => each / norm);
}

function greatestOf(vector: readonly number[]): number {
  let greatest = 0;
  for (const each of vector) greatest = Math.max(greatest, Math.abs(each));
  return greatest;
}

/** A vector as the text of an array of PostgreSQL. */
export function arrayText(vector: readonly number[]): string {
  return `{${vector.join()}}`;
}

/** Numbers as SQLite compares them: single precision, four bytes each. */
export function singlePrecision(vector: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(vector).buffer);
}

/**
 * The difference up to which a score equals the threshold, relative to the numbers from which the
 * score is computed.
 */
const scoreTolerance = 1e-12;

/**
 * A comparison that is applied to many vectors. Scores are doubles; one that differs from the
 * threshold by no more than rounding explains is equal to it, so that the cosine of two vectors of
 * one direction is 1.
 */
export class Scorer {
  readonly #comparison: VectorComparison;
  readonly #norm: number;
  readonly #direction: readonly number[] | null;

  /**
   * The result of {@link Scorer.compare} for every vector, if the given vector alone decides it.
   */
  readonly always: number | null | undefined;

  constructor(comparison: VectorComparison) {
    this.#comparison = comparison;
    this.#norm = normOf(comparison.vector);
    this.#direction = directionOf(comparison.vector);
    if (this.#direction === null && comparison.metric !== 'euclidean') {
      this.always = comparison.metric === 'cosine' ? null : sign(0 - comparison.threshold, 0);
    }
  }

  /**
   * Compares the score of a vector with the threshold: 1 above, 0 equal, -1 below; `null` if there
   * is no score, because a zero vector has no cosine.
   * @param vector of as many numbers as the one that it is compared with
   */
  compare(vector: readonly number[]): number | null {
    const { metric, threshold, vector: given } = this.#comparison;
    const norm = normOf(vector);
    if (metric === 'dot') return sign(product(vector, given) - threshold, norm * this.#norm);
    if (metric === 'euclidean') {
      const distance = normOf(vector.map((each, index) => each - (given[index] as number)));
      return sign(distance - threshold, norm + this.#norm);
    }
    const direction = directionOf(vector);
    if (direction === null || this.#direction === null) return null;
    return sign(product(direction, this.#direction) - threshold, 1);
  }
}

function product(left: readonly number[], right: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < left.length; i += 1) sum += (left[i] as number) * (right[i] as number);
  return sum;
}

/** @param scale size of the numbers from which the difference was computed */
function sign(difference: number, scale: number): number | null {
  if (Number.isNaN(difference)) return null;
  const tolerance = Number.isFinite(scale) ? scale * scoreTolerance : 0;
  return Math.abs(difference) <= tolerance ? 0 : Math.sign(difference);
}
