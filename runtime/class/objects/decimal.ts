import {
  compareDecimals,
  type Decimal,
  exactDecimal,
  roundedUnits,
  textOf,
} from '../../protocol/decimal.js';

/** A decimal as attributes hold it, such as `'12.50'`; or a number of at most 15 digits. */
export type DecimalInput = string | number;

/**
 * Exact arithmetic with decimals. Results keep all digits, so round them to the scale of the attribute
 * that they are for. Each method throws a TypeError for what is no decimal number.
 *
 *     order.total = decimal.round(decimal.multiply(order.net, '1.19'), 2);
 */
export const decimal = {
  add(a: DecimalInput, b: DecimalInput): string {
    return total([read(a), read(b)]);
  },

  subtract(a: DecimalInput, b: DecimalInput): string {
    const { units, scale } = read(b);
    return total([read(a), { units: -units, scale }]);
  },

  multiply(a: DecimalInput, b: DecimalInput): string {
    const [left, right] = [read(a), read(b)];
    return textOf({ units: left.units * right.units, scale: left.scale + right.scale });
  },

  /** The sum of the values that are not null; `'0'` if there is none. */
  sum(values: Iterable<DecimalInput | null>): string {
    return total([...values].flatMap((each) => (each === null ? [] : [read(each)])));
  },

  /** Negative, 0 or positive, as `sort()` expects it; `'1.50'` equals `'1.5'`. */
  compare(a: DecimalInput, b: DecimalInput): number {
    return compareDecimals(textOf(read(a)), textOf(read(b)));
  },

  /** With so many decimals, half away from zero: `round('2.345', 2)` is `'2.35'`. */
  round(value: DecimalInput, scale: number): string {
    return textOf({ units: roundedUnits(read(value), scale), scale });
  },
} as const;

function total(values: readonly Decimal[]): string {
  const scale = values.reduce((most, each) => Math.max(most, each.scale), 0);
  const units = values.reduce((sum, each) => sum + roundedUnits(each, scale), 0n);
  return textOf({ units, scale });
}

function read(value: DecimalInput): Decimal {
  const decimal = exactDecimal(value);
  if (decimal !== undefined) return decimal;
  throw new TypeError(
    `${JSON.stringify(value)} is no decimal number: write a text such as "12.50", or a number of at most 15 digits.`,
  );
}
