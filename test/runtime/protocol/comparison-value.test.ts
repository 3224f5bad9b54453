import { fold } from '../../../runtime/protocol/fold.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparisonValue } from '../../../runtime/protocol/comparison-value.js';
import type { StorageType } from '../../../runtime/protocol/storage-type.js';
import { parseFilter } from '../../../runtime/filter/parser.js';

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

describe('comparisonValue', () => {
  it.each<[StorageType, unknown, unknown]>([
    ['string', 'ÉCOLE', 'école'],
    ['string', 5, '5'],
    ['string', true, 'true'],
    ['string', {}, undefined],
    ['string', '\ud800', undefined],
    ['uuid', '01234567-89ab-cdef-0123-456789abcdef', '0123456789ABCDEF0123456789ABCDEF'],
    ['uuid', 'x', undefined],
    ['uuid', [], undefined],
    ['integer', 5, 5],
    ['integer', '5', 5],
    ['integer', 1.5, 1.5],
    ['integer', '1e3', 1000],
    ['integer', -0, 0],
    ['integer', 'x', undefined],
    ['integer', true, undefined],
    ['integer', '99999999999999999999', 1e20],
    ['decimal', '012.50', '12.50'],
    ['decimal', 0.1, '0.1'],
    ['decimal', -1e-7, '-0.0000001'],
    ['decimal', 'x', undefined],
    ['decimal', true, undefined],
    ['number', '1e999', Infinity],
    ['number', '', undefined],
    ['duration', '1000', 1000],
    ['boolean', true, 1],
    ['boolean', 'FALSE', 0],
    ['boolean', 1, 1],
    ['boolean', 0, 0],
    ['boolean', 2, undefined],
    ['boolean', 'yes', undefined],
    ['date', '2020-01-02', '2020-01-02T00:00:00.000Z'],
    ['date', '2020-01-02T10:00:00Z', '2020-01-02T10:00:00.000Z'],
    ['date', '2!1!2020', undefined],
    ['date', '', undefined],
    ['date', 2020, undefined],
    ['object', {}, undefined],
    ['image', 'x', undefined],
    ['blob', 'x', undefined],
    ['vector', [1], undefined],
  ])('compares a value of the type %s with %j as %j', (type, value, want) => {
    expect(comparisonValue(type, false, { value }, fold)).toBe(want);
  });

  it.each([
    ['2020-01-02', '2020-01-02'],
    ['2020-01-02T23:00:00-05:00', '2020-01-02'],
    ['2!1!2020', '2020-01-02'],
    ['2020-02-30', undefined],
  ])('compares a day with %s as %s', (value, want) => {
    expect(comparisonValue('date', true, { value }, fold)).toBe(want);
  });

  it.each<[StorageType, string, unknown]>([
    ['string', '01234', '01234'],
    ['string', '1e3', '1e3'],
    ['string', 'true', 'true'],
    ['string', "'Été'", 'été'],
    ['number', '01234', 1234],
    ['number', "'12'", 12],
    ['uuid', '01234567890123456789012345678901', '01234567890123456789012345678901'],
    ['boolean', 'TRUE', 1],
    ['date', '2020-01-02T10:00:00Z', '2020-01-02T10:00:00.000Z'],
  ])('compares a value of the type %s with the literal %s as %j', (type, text, want) => {
    const limits = { filterLength: 100, filterDepth: 1, conditions: 1, listSize: 1 };
    const node = parseFilter(`a=${text}`, limits).filter;
    if (node.kind !== 'comparison' || node.value.kind !== 'literal') throw new Error(text);
    expect(comparisonValue(type, false, node.value, fold)).toBe(want);
  });

  it('keeps null, and never throws', () => {
    for (const type of types)
      expect(comparisonValue(type, false, { value: null }, fold)).toBeNull();
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        fc.boolean(),
        fc.jsonValue(),
        (type, dateOnly, value) => {
          const compared = comparisonValue(type, dateOnly, { value }, fold);
          expect(Number.isNaN(compared)).toBe(false);
        },
      ),
    );
  });
});
