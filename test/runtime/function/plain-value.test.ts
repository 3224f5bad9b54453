import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { plainValue } from '../../../runtime/class/calls/result.js';
import { ResultError } from '../../../runtime/class/calls/result.js';

function json(value: unknown): string {
  return JSON.stringify(plainValue(value, () => undefined));
}

describe('A result as JSON:', () => {
  class Point {
    readonly #hidden = 1;
    constructor(
      readonly x: number,
      readonly y: number | undefined,
    ) {}
    get sum(): number {
      return this.x + this.#hidden;
    }
  }

  it.each<[string, unknown, string]>([
    ['a text', 'a"b', '"a\\"b"'],
    ['nothing', undefined, 'null'],
    ['null', null, 'null'],
    ['NaN', NaN, 'null'],
    ['an infinity', [-Infinity], '[null]'],
    ['a negative zero', -0, '0'],
    ['a small bigint', 12n, '12'],
    ['a large bigint', 2n ** 64n, '"18446744073709551616"'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['nothing in a list', [undefined, 1], '[null,1]'],
    ['a hole in a list', new Array(1), '[null]'],
    ['nothing in an object', { a: undefined, b: 1 }, '{"b":1}'],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', new Set([1])],
        [2, 'b'],
      ]),
      '{"2":"b","a":[1]}',
    ],
    ['numbers', new Float32Array([0.5, 2]), '[0.5,2]'],
    ['big numbers', new BigInt64Array([1n]), '[1]'],
    ['an instance', new Point(1, undefined), '{"x":1}'],
    [
      'what has a toJSON',
      { toJSON: () => ({ a: new Date(0) }) },
      '{"a":"1970-01-01T00:00:00.000Z"}',
    ],
    ['a hostile name', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    [
      'the same twice',
      (() => {
        const twice = { a: 1 };
        return [twice, twice];
      })(),
      '[{"a":1},{"a":1}]',
    ],
    ['an error with a toJSON', Object.assign(new Error('x'), { toJSON: () => 1 }), '1'],
    ['an empty object of another realm', runInNewContext('({})'), '{}'],
    ['an instance whose members are undefined', new Point(undefined as never, undefined), '{}'],
    [
      'an object without a prototype',
      Object.assign(Object.create(null) as object, { a: 1 }),
      '{"a":1}',
    ],
  ])('%s is written as %s', (_name, value, wanted) => {
    expect(json(value)).toBe(wanted);
  });

  const circle: Record<string, unknown> = {};
  circle['self'] = [circle];
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i += 1) deep = [deep];
  const endless = {
    toJSON() {
      return { ...this };
    },
  };

  class Hidden {
    readonly #secret = 1;
    get secret(): number {
      return this.#secret;
    }
  }
  function* numbers(): Generator<number> {
    yield 1;
  }
  const items: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => Readable.from([1]).iterator(),
  };

  it.each<[string, unknown]>([
    ['what holds itself', circle],
    ['what nests too deep', deep],
    ['what unfolds without end', endless],
    ['a function', { f: () => 1 }],
    ['a symbol', [Symbol('x')]],
    ['bytes', { b: new Uint8Array(1) }],
    ['a buffer', new ArrayBuffer(1)],
    ['a promise', [Promise.resolve()]],
    ['an invalid date', new Date(NaN)],
    ['a Map with other keys', new Map([[{}, 1]])],
    ['an error', [Object.assign(new Error('x'), { code: 1 })]],
    ['a generator', { g: numbers() }],
    ['a stream', Readable.from(['x'])],
    ['what is read asynchronously', { ...items, a: 1 }],
    ['a pattern', /x/],
    ['a WeakMap', new WeakMap()],
    ['a number in an object', Object(1)],
    ['an instance without members', new Hidden()],
  ])('%s is a mistake of the code', (_name, value) => {
    expect(() => json(value)).toThrow(ResultError);
  });

  it('an object of class code is converted', () => {
    const known = new Point(1, 2);
    const replaced = plainValue([{ a: known }], (value) => (value === known ? 'here' : undefined));
    expect(replaced).toEqual([{ a: 'here' }]);
  });
});
