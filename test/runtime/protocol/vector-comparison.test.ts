import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readVector } from '../../../runtime/vectors/values.js';

const vector = [1, 0.5];

describe('A comparison object', () => {
  it.each<[object, object]>([
    [{ vector }, { vector, metric: 'cosine', threshold: 0.5 }],
    [
      { vector, metric: 'dot', threshold: -3 },
      { vector, metric: 'dot', threshold: -3 },
    ],
    [
      { metric: 'EUCLIDEAN', vector },
      { vector, metric: 'euclidean', threshold: 0.5 },
    ],
    [
      { vector, metric: 'Cosine', threshold: 0 },
      { vector, metric: 'cosine', threshold: 0 },
    ],
  ])('is read: %j', (value, comparison) => {
    expect(readVector(value, 2)).toMatchObject({ values: { given: comparison } });
  });

  it.each<[unknown, RegExp]>([
    ['near', /^must be an object such as \{"vector":.* 2 numbers$/],
    [1, /^must be an object/],
    [true, /^must be an object/],
    [vector, /^must be an object/],
    [{}, /^must have a vector, a list of 2 numbers$/],
    [{ vector: null }, /^must have a vector/],
    [{ vector: { 0: 1, 1: 2 } }, /^must have a vector/],
    [{ vector: [1, null] }, /^must have a vector/],
    [{ vector: [1, '2'] }, /^must have a vector/],
    [{ vector: [1, Infinity] }, /^must have a vector/],
    [{ vector: [] }, /^has a vector of 0 numbers, expected 2$/],
    [{ vector: [1, 2, 3] }, /^has a vector of 3 numbers, expected 2$/],
    [{ vector, metric: 'l2' }, /^has the metric "l2", expected cosine, dot or euclidean$/],
    [{ vector, metric: 1 }, /^has the metric 1, expected/],
    [{ vector, metric: null }, /^has the metric null, expected/],
    [{ vector, metric: 'constructor' }, /^has the metric "constructor"/],
    [{ vector, threshold: '0.5' }, /^has the threshold "0.5", expected a number$/],
    [{ vector, threshold: null }, /^has the threshold null/],
    [{ vector, threshold: Infinity }, /^has the threshold/],
    [{ vector, Threshold: 1 }, /^has a member "Threshold", which has no meaning/],
    [JSON.parse('{"vector":[1,2],"__proto__":{}}'), /^has a member "__proto__"/],
  ])('is refused: %j', (value, problem) => {
    const read = readVector(value, 2);
    expect(read).toEqual({ problem: expect.stringMatching(problem) as unknown });
  });

  it('is read or refused, whatever the value is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(Object.keys(readVector(value, 2))).toHaveLength(1);
      }),
    );
  });
});
