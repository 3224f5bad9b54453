import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StorageType } from '../../../runtime/protocol/storage-type.js';
import { decodeKey, readKeyClause } from '../../../runtime/protocol/key.js';
import { refusalOf } from '../refusal.js';
import { anyCharacter } from '../../support/any-character.js';

describe('readKeyClause', () => {
  it.each([
    ['12)', '12', false],
    ['AB12)', 'AB12', false],
    ['"AB12")', 'AB12', true],
    ["'AB')", 'AB', true],
    ['"a)b")', 'a)b', true],
    ['a)b)', 'a)b', false],
    ['"a"b")', 'a"b', true],
    [`"it's")`, "it's", true],
    ["O'Brien)", "O'Brien", false],
    ['"")', '', true],
    ['"12")', '12', true],
    [' 12)', ' 12', false],
    ['a"b")', 'a"b"', false],
    ['😀)', '😀', false],
  ])('reads %s as %s', (clause, text, quoted) => {
    expect(readKeyClause(clause)).toEqual({ text, quoted });
  });

  it.each([
    ['', 1806],
    ['12', 1806],
    [')', 1806],
    ['12)x', 1806],
    ['")', 1809],
    ["')", 1808],
    ['"AB)', 1809],
    ["'AB)", 1808],
    [`"AB')`, 1809],
  ])('refuses %j with %i', (clause, code) => {
    const refusal = refusalOf(() => readKeyClause(clause));
    expect(refusal).toMatchObject({ status: 400, code });
  });

  it('returns any quoted text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.constantFrom('"', "'"), (text, quote) => {
        expect(readKeyClause(`${quote}${text}${quote})`)).toEqual({ text, quoted: true });
      }),
    );
  });
});

describe('decodeKey', () => {
  it.each<[StorageType, string, string | number | undefined]>([
    ['integer', '12', 12],
    ['integer', '-12', -12],
    ['integer', '007', 7],
    ['integer', '-0', 0],
    ['integer', '9007199254740991', 9007199254740991],
    ['integer', '9007199254740992', undefined],
    ['integer', '9007199254740993', undefined],
    ['integer', '1'.repeat(400), undefined],
    ['integer', '', undefined],
    ['integer', '-', undefined],
    ['integer', '+1', undefined],
    ['integer', '1e3', undefined],
    ['integer', '1.0', undefined],
    ['integer', ' 12', undefined],
    ['integer', '12 ', undefined],
    ['integer', '0x10', undefined],
    ['integer', '١٢', undefined],
    ['integer', '1 or 1=1', undefined],
    ['number', '1.5', 1.5],
    ['number', '1e+21', 1e21],
    ['number', '-2', -2],
    ['number', '1e999', undefined],
    ['number', 'NaN', undefined],
    ['number', '+1', undefined],
    ['number', '', undefined],
    ['string', ' a ', ' a '],
    ['string', '', ''],
    ['uuid', '0123456789abcdefABCDEF0123456789', '0123456789ABCDEFABCDEF0123456789'],
    ['uuid', '01234567-89ab-cdef-ABCD-EF0123456789', '0123456789ABCDEFABCDEF0123456789'],
    ['uuid', '{01234567-89ab-cdef-ABCD-EF0123456789}', '0123456789ABCDEFABCDEF0123456789'],
    ['uuid', '0123456789abcdefABCDEF012345678', undefined],
    ['uuid', '0123456789abcdefABCDEF012345678g', undefined],
    ['uuid', '012345678-9ab-cdef-ABCD-EF0123456789', undefined],
    ['uuid', '0123456789abcdefABCDEF0123456789\n', undefined],
    ['uuid', '', undefined],
    ['boolean', 'true', undefined],
  ])('reads a key of the type %s from %j as %j', (type, text, want) => {
    expect(decodeKey(type, text)).toBe(want);
  });

  it('reads what is printed for a key', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (key) => {
        expect(decodeKey('integer', String(key))).toBe(key);
      }),
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (key) => {
        expect(decodeKey('number', String(key))).toBe(key + 0);
      }),
    );
  });
});
