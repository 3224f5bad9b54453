import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StorageDefinition } from '../../../runtime/protocol/definition.js';
import type { StorageType } from '../../../runtime/protocol/storage-type.js';
import { storedValue, type ValueResult } from '../../../runtime/protocol/values.js';

function attribute(type: StorageType, more: Partial<StorageDefinition> = {}): StorageDefinition {
  return { kind: 'storage', name: 'a', column: 'a', type, ...more };
}

function store(
  type: StorageType,
  json: unknown,
  more: Partial<StorageDefinition> = {},
): ValueResult {
  return storedValue(attribute(type, more), json);
}

const types: readonly StorageType[] = [
  'string',
  'uuid',
  'number',
  'integer',
  'decimal',
  'boolean',
  'date',
  'duration',
  'object',
  'image',
  'blob',
  'vector',
];

describe('storedValue', () => {
  it.each<[StorageType, unknown, string | number | null]>([
    ['string', '', ''],
    ['string', ' e\u0301\u0000\u2028 ', ' e\u0301\u0000\u2028 '],
    ['string', '😀', '😀'],
    ['uuid', '01234567-89ab-cdef-0123-456789abcdef', '0123456789ABCDEF0123456789ABCDEF'],
    ['number', 1.5, 1.5],
    ['number', '1.5', 1.5],
    ['number', '-1e-3', -0.001],
    ['number', -0, 0],
    ['number', 5e-324, 5e-324],
    ['integer', 9007199254740991, 9007199254740991],
    ['integer', '-9007199254740991', -9007199254740991],
    ['integer', '309', 309],
    ['integer', -0, 0],
    ['integer', '-0', 0],
    ['duration', 86_400_000, 86_400_000],
    ['boolean', true, 1],
    ['boolean', 'true', 1],
    ['boolean', false, 0],
    ['boolean', 'false', 0],
    ['date', '2026-03-09T14:25:36+02:00', '2026-03-09T12:25:36.000Z'],
    ['date', '', null],
    ['object', {}, '{}'],
    ['object', { a: [1, null, 'x'], __proto__x: 1 }, '{"a":[1,null,"x"],"__proto__x":1}'],
    ['object', [], '[]'],
    ['vector', [1, -2.5, 0], '[1,-2.5,0]'],
  ])('stores for the type %s the value %j as %j', (type, json, value) => {
    expect(store(type, json)).toEqual({ ok: true, value });
  });

  it('keeps own properties of any name', () => {
    const json = '{"__proto__":{"a":1},"constructor":2}';
    expect(store('object', JSON.parse(json))).toEqual({ ok: true, value: json });
  });

  it.each(types)('accepts null for %s', (type) => {
    expect(store(type, null)).toEqual({ ok: true, value: null });
  });

  it('accepts a day as it is written', () => {
    const day = (json: unknown): ValueResult => store('date', json, { dateOnly: true });
    expect(day('2026-03-09T23:59:59-12:00')).toEqual({ ok: true, value: '2026-03-09' });
    expect(day('9!3!2026')).toEqual({ ok: true, value: '2026-03-09' });
    expect(day('')).toEqual({ ok: true, value: null });
    expect(day('2026-02-30')).toMatchObject({ ok: false });
    expect(store('date', '9!3!2026')).toMatchObject({ ok: false });
  });

  it.each<[StorageType, unknown, string]>([
    ['string', 1, 'must be a text'],
    ['string', true, 'must be a text'],
    ['string', {}, 'must be a text'],
    ['uuid', 'x', 'must be a UUID'],
    ['uuid', 5, 'must be a UUID'],
    ['number', '', 'must be a number'],
    ['number', ' 1', 'must be a number'],
    ['number', '1,5', 'must be a number'],
    ['number', 'NaN', 'must be a number'],
    ['number', NaN, 'must be a number'],
    ['number', Infinity, 'must be a number that is not too large to be kept: at most 1.8e308'],
    ['number', '1e999', 'must be a number that is not too large to be kept: at most 1.8e308'],
    ['number', true, 'must be a number'],
    ['number', [1], 'must be a number'],
    ['integer', 1.5, 'must be a whole number'],
    ['integer', '1.0', 'must be a whole number'],
    ['integer', '9007199254740990.7', 'must be a whole number'],
    ['integer', 9007199254740992, 'must be a whole number'],
    ['integer', '9007199254740993', 'must be a whole number'],
    ['integer', false, 'must be a whole number'],
    ['duration', 0.5, 'milliseconds'],
    ['duration', 'PT1S', 'milliseconds'],
    ['boolean', 1, 'must be true or false'],
    ['boolean', 'TRUE', 'must be true or false'],
    ['boolean', '', 'must be true or false'],
    ['date', 5, 'must be a date'],
    ['date', '2026-02-30', 'must be a date'],
    ['date', '!!2026-01-01!!', 'must be a date'],
    ['object', 'x', 'must be a JSON object'],
    ['object', 1, 'must be a JSON object'],
    ['object', true, 'must be a JSON object'],
    ['vector', {}, 'must be an array of numbers'],
    ['vector', ['1'], 'must be an array of numbers'],
    ['vector', [NaN], 'must be an array of numbers'],
    ['vector', [1, -Infinity], 'must be an array of numbers that are not too large'],
    ['vector', [null], 'must be an array of numbers'],
    ['image', { ID: 'x' }, 'the ID that an upload'],
    ['image', { message: 'x', error: 'notFound' }, 'the ID that an upload'],
    ['blob', '', 'the ID that an upload'],
    ['blob', [1, 2], 'the ID that an upload'],
    ['blob', { type: 'Buffer', data: [1] }, 'the ID that an upload'],
  ])('refuses for %s: %j', (type, json, message) => {
    const result = store(type, json);
    expect(result).toMatchObject({ ok: false, malformed: false });
    expect(!result.ok && result.message).toContain(message);
  });

  it('checks the length of a vector', () => {
    expect(store('vector', [1, 2], { dimensions: 2 }).ok).toBe(true);
    expect(store('vector', [1], { dimensions: 2 })).toMatchObject({
      message: 'must be an array of 2 numbers',
    });
  });

  it.each<[StorageType, unknown]>([
    ['string', '\ud800'],
    ['string', 'a\udc00b'],
    ['object', { a: ['\ud800'] }],
    ['object', { '\udc00': 1 }],
    ['object', { a: Infinity }],
  ])('finds a malformed body: %s %j', (type, json) => {
    expect(store(type, json)).toMatchObject({ ok: false, malformed: true });
  });

  it('bounds the depth of objects', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(store('object', nested(64)).ok).toBe(true);
    expect(store('object', nested(65))).toMatchObject({ ok: false, malformed: false });
    expect(store('object', nested(5_000))).toMatchObject({ ok: false });
  });

  it('keeps JSON exactly, and never throws', () => {
    const malformed = (text: string): boolean => /\p{Surrogate}/u.test(text);
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: 'binary' }),
        fc.constantFrom(...types),
        (json, type) => {
          const result = store(type, json);
          if (type !== 'object' || typeof json !== 'object' || json === null) return;
          const text = JSON.stringify(json);
          expect(result).toEqual(malformed(text) ? result : { ok: true, value: text });
        },
      ),
    );
  });
});
