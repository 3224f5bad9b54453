import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  directionOf,
  type Metric,
  normOf,
  Scorer,
  singlePrecision,
} from '../../../runtime/protocol/vector.js';

describe('The norm', () => {
  it.each<[number[], number]>([
    [[3, 4], 5],
    [[0, 0], 0],
    [[-2], 2],
    [[3e200, -4e200], 5e200],
    [[3e-200, 4e-200], 5e-200],
    [[5e-324], 5e-324],
    [[1.7e308, 1.7e308], Infinity],
    [[Infinity, 1], Infinity],
  ])('of %j is %d', (vector, norm) => {
    const found = normOf(vector);
    expect(found === norm || Math.abs(found / norm - 1) < 1e-15).toBe(true);
  });
});

describe('The direction', () => {
  it.each<[number[], number[] | null]>([
    [
      [3, 4],
      [0.6, 0.8],
    ],
    [[0, 0], null],
    [[-0], null],
    [
      [1.7e308, -1.7e308],
      [Math.SQRT1_2, -Math.SQRT1_2],
    ],
    [
      [0, 5e-324],
      [0, 1],
    ],
  ])('of %j is %j', (vector, direction) => {
    const found = directionOf(vector);
    if (direction === null) expect(found).toBeNull();
    else expect(found).toEqual(direction.map((each) => expect.closeTo(each, 14) as unknown));
  });

  it('has the norm 1, whatever the numbers are', () => {
    const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
    fc.assert(
      fc.property(numbers, (vector) => {
        const direction = directionOf(vector);
        if (vector.every((each) => each === 0)) expect(direction).toBeNull();
        else expect(normOf(direction ?? [])).toBeCloseTo(1, 14);
      }),
    );
  });
});

it('Single precision uses four bytes for a number, with the lowest first', () => {
  expect([...singlePrecision([1, -2])]).toEqual([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
});

describe('A score', () => {
  it.each<[Metric, number[], number[], number]>([
    ['cosine', [1, 0], [2, 0], 1],
    ['cosine', [0.1, 0.2], [0.3, 0.6], 1],
    ['cosine', [1, 0], [-3, 0], -1],
    ['cosine', [3, 4], [1, 0], 0.6],
    ['dot', [1, 2], [3, 4], 11],
    ['dot', [0.1, 0.2], [3, 0], 0.3],
    ['dot', [0, 0], [3, 4], 0],
    ['euclidean', [1, 2], [4, 6], 5],
    ['euclidean', [0.1], [0.4], 0.3],
    ['euclidean', [0, 0], [0, 0], 0],
  ])('by %s of %j and %j is %d', (metric, vector, stored, score) => {
    const compare = (threshold: number) =>
      new Scorer({ metric, vector, threshold }).compare(stored);
    expect(compare(score)).toBe(0);
    expect(compare(score + 1e-9)).toBe(-1);
    expect(compare(score - 1e-9)).toBe(1);
  });

  it('is null for the cosine with a zero vector', () => {
    const cosine = new Scorer({ metric: 'cosine', vector: [1, 0], threshold: 0 });
    expect(cosine.compare([0, 0])).toBeNull();
    expect(cosine.always).toBeUndefined();
    const zero = new Scorer({ metric: 'cosine', vector: [0, 0], threshold: 0 });
    expect([zero.compare([1, 0]), zero.always]).toEqual([null, null]);
  });

  it.each([-1, 0, 1])('is 0 for the dot product with a zero vector: %j', (threshold) => {
    const dot = new Scorer({ metric: 'dot', vector: [0, 0], threshold });
    expect(dot.always).toBe(dot.compare([3, -4]));
    expect(dot.always).toBe(0 - threshold);
  });

  it('is compared even if a double cannot hold the norm', () => {
    const huge = { metric: 'dot', vector: [1e300, 1e300], threshold: 1 } as const;
    expect(new Scorer(huge).compare([1e300, 1e300])).toBe(1);
    expect(new Scorer({ ...huge, metric: 'euclidean' }).compare([-1e300, 1e300])).toBe(1);
    expect(new Scorer({ ...huge, metric: 'cosine' }).compare([1.7e308, 1.7e308])).toBe(0);
  });
});
