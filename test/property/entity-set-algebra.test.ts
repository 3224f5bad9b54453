import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  and,
  except,
  intersect,
  type Key,
  type KeyList,
  keysOf,
  type KeyType,
  or,
} from '../../runtime/entity-set/key-list.js';
import { keyKinds } from '../support/key-kinds.js';
import { sampled } from '../support/long.js';

describe.each(keyKinds)('Lists of $name keys', ({ type, key }) => {
  /**
   * In any order or ascending, with similar or very different lengths, so that every search
   * algorithm is used.
   */
  const keys = fc
    .tuple(
      fc.oneof(
        fc.uniqueArray(key, { maxLength: 4 }),
        fc.uniqueArray(key, { maxLength: 40, size: 'max' }),
      ),
      fc.boolean(),
    )
    .map(([any, ascending]) => (ascending ? ascend(any) : any));
  const list = (values: readonly Key[]): KeyList => keysOf(type, values);
  const holds = (
    law: (one: readonly Key[], other: readonly Key[], third: readonly Key[]) => void,
  ): void => {
    fc.assert(fc.property(keys, keys, keys, law), {
      numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(100)),
    });
  };

  it('give the results of lists of values, in the same order', () => {
    holds((one, other) => {
      const [left, right] = [list(one), list(other)];
      expect([...and(left, right)]).toEqual(one.filter((value) => other.includes(value)));
      expect([...except(left, right)]).toEqual(one.filter((value) => !other.includes(value)));
      expect([...or(left, right)]).toEqual([...new Set([...one, ...other])]);
      expect(intersect(left, right)).toBe(one.some((value) => other.includes(value)));
    });
  });

  it('give lists that equal lists made of values', () => {
    holds((one, other) => {
      for (const operate of [and, or, except]) {
        const result = operate(list(one), list(other));
        expectSame(result, list([...result]));
      }
    });
  });

  it('obey the laws of sets', () => {
    holds((one, other, third) => {
      const [a, b, c] = [list(one), list(other), list(third)];
      expectEqualSets(and(a, b), and(b, a));
      expectEqualSets(or(a, b), or(b, a));
      expectSame(and(and(a, b), c), and(a, and(b, c)));
      expectSame(or(or(a, b), c), or(a, or(b, c)));
      expectSame(except(a, or(b, c)), and(except(a, b), except(a, c)));
      expectEqualSets(except(a, and(b, c)), or(except(a, b), except(a, c)));
      expectSame(and(a, or(b, c)), except(a, except(except(a, b), c)));
      expectEqualSets(or(and(a, b), except(a, b)), a);
      expectSame(or(a, b), or(a, except(b, a)));
      expect(intersect(a, b)).toBe(and(a, b).length > 0);
      expect(intersect(a, b)).toBe(intersect(b, a));
      expect(intersect(except(a, b), b)).toBe(false);
    });
  });

  it('stay the same object when nothing is added or removed', () => {
    holds((one, other) => {
      const [a, b] = [list(one), list(other)];
      const none = list([]);
      expect(and(a, a)).toBe(a);
      expect(or(a, a)).toBe(a);
      expect(and(a, or(b, a))).toBe(a);
      expect(or(a, and(a, b))).toBe(a);
      expect(except(a, none)).toBe(a);
      expect(or(a, none)).toBe(a);
      expect(or(none, a)).toBe(a.length === 0 ? none : a);
      expect(except(a, a).length).toBe(0);
      expect(and(a, none).length).toBe(0);
      expect(intersect(a, none)).toBe(false);
    });
  });

  it('are not changed', () => {
    holds((one, other) => {
      const [a, b] = [list(one), list(other)];
      for (const operate of [and, or, except, intersect]) operate(a, b);
      expect([[...a], [...b]]).toEqual([one, other]);
    });
  });
});

describe('Many integers', () => {
  /** From a seed, so that a failure can be reproduced. */
  function drawn(seed: number, count: number, range: number, least: number): readonly number[] {
    let state = seed;
    const values = new Set<number>();
    while (values.size < count) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      values.add(least + Math.floor((state / 2 ** 32) * range));
    }
    return [...values];
  }

  it.each([
    ['dense', 6_000, 0],
    ['dense and negative', 6_000, -3_000],
    ['dense around 2^32', 6_000, 2 ** 32 - 3_000],
    ['sparse', 2 ** 31, 0],
    ['sparse and signed', 2 ** 40, -(2 ** 39)],
  ])('are combined when they are %s', (_, range, least) => {
    for (const isAscending of [false, true]) {
      const one = drawn(1, 4_000, range, least);
      const other = [...drawn(2, 3_000, range, least), ...one.slice(0, 500)];
      const [left, right] = [one, [...new Set(other)]].map((values) =>
        keysOf('integer', isAscending ? ascend(values) : values),
      ) as [KeyList, KeyList];
      const rightValues = new Set(right);
      const common = [...left].filter((value) => rightValues.has(value));
      expect(common.length).toBeGreaterThanOrEqual(500);
      expect([...and(left, right)]).toEqual(common);
      expect([...or(left, right)]).toEqual([...new Set([...left, ...right])]);
      expect([...except(left, right)]).toEqual([...left].filter((key) => !rightValues.has(key)));
    }
  });
});

it.each<KeyType>(['string', 'uuid'])('Many keys of type %s are distinguished', (type) => {
  // Unordered, so that a hash table is used; about nine of so many pairs have the same hash of 32
  // bits.
  const keys = Array.from({ length: 400_000 }, (_, at) =>
    createHash('md5').update(String(at)).digest('hex').toUpperCase(),
  );
  const one = keysOf(type, keys.slice(0, 200_000));
  const other = keysOf(type, keys.slice(200_000));
  expect(and(one, other).length).toBe(0);
  expect(and(or(one, other), other).length).toBe(200_000);
});

it('Lists of different types cannot be combined', () => {
  const lists = [
    keysOf('integer', [1]),
    keysOf('number', [1]),
    keysOf('uuid', []),
    keysOf('string', ['a']),
  ];
  for (const one of lists) {
    for (const other of lists) {
      if (one === other) continue;
      for (const operate of [and, or, except, intersect]) {
        expect(() => operate(one, other)).toThrow(TypeError);
      }
    }
  }
});

function ascend(values: readonly Key[]): readonly Key[] {
  return [...values].sort((one, other) => (one < other ? -1 : 1));
}

function expectSame(one: KeyList, other: KeyList): void {
  expect([...one]).toEqual([...other]);
  expect(one.byteLength).toBe(other.byteLength);
  expect(one.page(0, 1_000)).toBe(other.page(0, 1_000));
}

function expectEqualSets(one: KeyList, other: KeyList): void {
  expect(new Set(one)).toEqual(new Set(other));
  expect(one.length).toBe(other.length);
}
