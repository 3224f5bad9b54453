import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../../runtime/class/objects/decimal.js';

describe('decimal', () => {
  it('adds, subtracts and multiplies exactly, and keeps all digits', () => {
    expect(decimal.add('0.10', '0.2')).toBe('0.30');
    expect(decimal.add('-0.1', 0.1)).toBe('0.0');
    expect(decimal.subtract('1', '0.01')).toBe('0.99');
    expect(decimal.multiply('19.99', 3)).toBe('59.97');
    expect(decimal.multiply('-0.05', '0.1')).toBe('-0.005');
    expect(decimal.add('999999999999999999', '0.000000000000000001')).toBe(
      '999999999999999999.000000000000000001',
    );
  });

  it('sums what is not null', () => {
    expect(decimal.sum(['1.5', null, '2.25', 3])).toBe('6.75');
    expect(decimal.sum([])).toBe('0');
    expect(decimal.sum(new Set([null]))).toBe('0');
  });

  it.each([
    ['2.345', 2, '2.35'],
    ['-2.345', 2, '-2.35'],
    ['2.344999', 2, '2.34'],
    ['-0.4', 0, '0'],
    ['7', 2, '7.00'],
    ['1e2', 1, '100.0'],
  ])('rounds %s to %i decimals half away from zero: %s', (value, scale, rounded) => {
    expect(decimal.round(value, scale)).toBe(rounded);
  });

  it('compares numbers, not texts', () => {
    expect(decimal.compare('1.50', '1.5')).toBe(0);
    expect(['10', '9.99', '-1', '0'].toSorted((a, b) => decimal.compare(a, b))).toEqual([
      '-1',
      '0',
      '9.99',
      '10',
    ]);
  });

  it.each(['', 'abc', '1,5', NaN, Infinity, 0.1 + 0.2, '1e400', '1e-400', null, undefined])(
    'refuses %j',
    (value) => {
      expect(() => decimal.add(value as string, '1')).toThrow(TypeError);
    },
  );

  it('agrees with integers, whatever the scale', () => {
    const units = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
    const text = (value: bigint): string => decimal.multiply(String(value), '0.0001');
    fc.assert(
      fc.property(units, units, (a, b) => {
        expect(decimal.add(text(a), text(b))).toBe(text(a + b));
        expect(decimal.subtract(text(a), text(b))).toBe(text(a - b));
        expect(decimal.compare(text(a), text(b))).toBe(a < b ? -1 : Number(a > b));
      }),
    );
  });
});
