import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Key, keysOf, type KeyType } from '../../../runtime/entity-set/key-list.js';
import { parseKeys } from '../../../runtime/entity-set/keys-reader.js';
import { keyKinds } from '../../support/key-kinds.js';

describe.each(keyKinds)('A list of $name keys', ({ type, key, written }) => {
  const keyLists = fc.uniqueArray(key, { selector: (value) => value });

  it('contains the keys that the database returned, in their order', () => {
    fc.assert(
      fc.property(keyLists, (keys) => {
        const list = parseKeys(type, Buffer.from(written(keys)));
        expect([...list]).toEqual(keys);
        expect(list.length).toBe(keys.length);
        expect(keys.map((_, at) => [...list.slice(at, at + 1)])).toEqual(keys.map((key) => [key]));
      }),
    );
  });

  it('is the same whether its keys come as JSON or as values', () => {
    fc.assert(
      fc.property(keyLists, (keys) => {
        const given = keysOf(type, keys);
        expect(given).toStrictEqual(parseKeys(type, Buffer.from(written(keys))));
      }),
    );
  });

  it('returns any page as JSON', () => {
    fc.assert(
      fc.property(keyLists, fc.nat(12), fc.nat(12), (keys, from, size) => {
        const page = keysOf(type, keys).page(from, from + size);
        expect(JSON.parse(page)).toEqual(keys.slice(from, from + size));
      }),
    );
  });

  it('is empty without a value', () => {
    for (const value of [undefined, new Uint8Array()]) {
      const list = parseKeys(type, value);
      expect([list.length, [...list], list.page(0, 100)]).toEqual([0, [], '[]']);
    }
  });

  it('contains a repeated key once', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 6 }), (keys) => {
        expect([...keysOf(type, [...keys, ...keys])]).toEqual([...new Set(keys)]);
      }),
    );
  });
});

describe('The bytes of a list', () => {
  const bytes = (type: KeyType, keys: readonly Key[]): number => keysOf(type, keys).byteLength;

  it('are four for a non-negative integer below 2^32, else eight', () => {
    expect(bytes('integer', [0, 1, 2 ** 32 - 1])).toBe(12);
    expect(bytes('integer', [0, 1, 2 ** 32])).toBe(24);
    expect(bytes('integer', [0, -1])).toBe(16);
    expect(bytes('number', [1, 2])).toBe(16);
  });

  it('are 24 for a text, and its characters in words of eight bytes', () => {
    expect(bytes('uuid', ['0'.repeat(32), 'F'.repeat(32)])).toBe(2 * (24 + 32));
    expect(bytes('string', ['', 'ab', 'ü'.repeat(9)])).toBe(24 + (24 + 8) + (24 + 16));
  });

  it('are two for a character of a text that is not Latin-1', () => {
    expect(bytes('string', ['ab€', 'ab€de'])).toBe(24 + 8 + (24 + 16));
  });
});

describe('Keys that do not have the type of the model', () => {
  it.each<[KeyType, string]>([
    ['integer', '1,,2'],
    ['integer', '1,'],
    ['integer', ',1'],
    ['integer', '1 2'],
    ['integer', 'a'],
    ['integer', '-'],
    ['integer', '1.5'],
    ['integer', '9007199254740992'],
    ['integer', '-9007199254740992'],
    ['number', '1,,2'],
    ['number', '.'],
    ['number', '1e999'],
    ['number', 'Infinity'],
    ['number', '0x10'],
    ['uuid', JSON.stringify(['A'.repeat(31)])],
    ['uuid', JSON.stringify(['a'.repeat(32)])],
    ['uuid', JSON.stringify(['G'.repeat(32)])],
    ['uuid', JSON.stringify(['A'.repeat(32), null])],
    ['uuid', 'A'.repeat(32)],
    ['string', '[1]'],
    ['string', '{"a":"b"}'],
    ['string', '["a"'],
  ])('%s %s are refused', (type, value) => {
    expect(() => parseKeys(type, Buffer.from(value))).toThrow(
      `the database gave primary keys that are not of type ${type}: `,
    );
  });

  it.each<[KeyType, Key]>([
    ['integer', 1.5],
    ['integer', 2 ** 53],
    ['integer', '1'],
    ['number', Infinity],
    ['number', NaN],
    ['uuid', 'A'],
    ['uuid', 'a'.repeat(32)],
    ['uuid', 1],
    ['string', 1],
  ])('are refused as values: %s %j', (type, key) => {
    expect(() => keysOf(type, [key])).toThrow(TypeError);
  });
});

describe('Texts', () => {
  it('are the same keys however their JSON is written', () => {
    const standard = parseKeys('string', Buffer.from('["a/b","\\u0001é","\\"\\\\"]'));
    const other = parseKeys(
      'string',
      Buffer.from('[ "a\\/b" , "\\u0001\\u00E9","\\u0022\\u005c" ]'),
    );
    expect(other).toStrictEqual(standard);
  });

  it('that cannot be read are refused', () => {
    for (const value of ['[', '["a"', '["a]', '["a",]', '["a"]]', '["\u0001"]', '"a"']) {
      expect(() => parseKeys('string', Buffer.from(value)), value).toThrow();
    }
  });
});

describe('Numbers', () => {
  it('are read exactly in any notation', () => {
    const texts = ['5.0', '1.0e+300', '-2.5e-07', '0.30000000000000004', '-0.0', '5e-324'];
    const more = ['1.2345678901234568e+17', '9007199254740993.0', '123456789.123456789', '0.1'];
    for (const text of [...texts, ...more]) {
      expect([...parseKeys('number', Buffer.from(text))], text).toEqual([Number(text) + 0]);
    }
  });
});
