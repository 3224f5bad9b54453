import { isNumber, RoundedNumber } from './numbers.js';

/** An exact number: `units` × 10^-`scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** The precision of an attribute, and how many of its digits are decimals. */
interface DecimalType {
  readonly precision?: number;
  readonly scale?: number;
}

/** The greatest precision: so many digits fit into 64 bits. */
export const mostDigits = 18;

/** JSON numbers are doubles, which hold every number of that many digits. */
const digitsOfDouble = 15;

/** Beyond every value, whatever its scale. */
const farthest = 60;

/** Digits that are read of a longer number, and one that says whether more follow. */
const readDigits = 80;

const parts = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * A number as `numberFromText` reads it, without rounding. One that is farther from 0 than every
 * value, or nearer to it, becomes another such number.
 */
function decimalFromText(text: string): Decimal | undefined {
  if (!isNumber(text)) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return { units: 0n, scale: 0 };
  const one = sign === '-' ? -1n : 1n;
  // The number is below 10^magnitude.
  const magnitude = digits.length - fraction.length + Number(exponent);
  if (magnitude > farthest) return { units: one * powerOfTen(farthest), scale: 0 };
  if (magnitude < -farthest) return { units: one, scale: farthest };
  const rest = digits.slice(readDigits);
  const read = `${digits.slice(0, readDigits)}${/[1-9]/.test(rest) ? '1' : ''}`;
  const scale = read.length - magnitude;
  const units = one * BigInt(read);
  return scale >= 0 ? { units, scale } : { units: units * powerOfTen(-scale), scale: 0 };
}

/** A value that a client compares with: the text of a literal, or a number of JSON. */
export function comparedDecimal(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const decimal = decimalFromText(String(value));
  return decimal === undefined ? undefined : textOf(decimal);
}

/** How to make a number one of a scale that cannot hold it. */
export type Rounding = 'exact' | 'floor' | 'ceiling';

/**
 * A number in the form in which attributes with this scale hold theirs; beyond all of them, if it is
 * too large for that.
 * @returns `undefined` if the scale cannot hold it, and it is not to be rounded
 */
export function decimalAtScale(
  text: string,
  scale: number,
  rounding: Rounding,
): string | undefined {
  const decimal = decimalFromText(text);
  const units = decimal === undefined ? undefined : unitsAt(decimal, scale, rounding);
  if (units === undefined) return undefined;
  const beyond = powerOfTen(mostDigits + 1);
  const bounded = units > beyond ? beyond : units < -beyond ? -beyond : units;
  return textOf({ units: bounded, scale });
}

/** Compares two numbers as texts: negative, 0 or positive. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [decimalFromText(a), decimalFromText(b)];
  if (left === undefined || right === undefined) throw new Error('A decimal is no number.');
  const scale = Math.max(left.scale, right.scale);
  const difference = (unitsAt(left, scale, 'exact') ?? 0n) - (unitsAt(right, scale, 'exact') ?? 0n);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/** The stored form of a value, or the predicate of a sentence that says why it is none. */
type DecimalResult = { readonly value: string } | { readonly problem: string };

const notDecimal = { problem: 'must be a decimal number, as a text such as "12.50"' };
const losesDigits = {
  problem: 'must be sent as a text, because a JSON number loses digits of such a number',
};

/**
 * The stored form of a value in a JSON body: all digits, with as many decimals as the scale. A JSON
 * number is accepted as long as a double holds all its digits.
 */
export function decimalValue(json: unknown, type: DecimalType): DecimalResult {
  if (json instanceof RoundedNumber) {
    const result = decimalValue(json.text, type);
    return 'problem' in result ? result : losesDigits;
  }
  if (typeof json !== 'string' && typeof json !== 'number') return notDecimal;
  if (typeof json === 'number' && !isExactNumber(json)) return losesDigits;
  const { precision = mostDigits, scale = 0 } = type;
  const decimal = decimalFromText(String(json));
  if (decimal === undefined) return notDecimal;
  const units = unitsAt(decimal, scale, 'exact');
  if (units === undefined) {
    return {
      problem:
        scale === 0 ? 'must have no decimals' : `must have at most ${counted(scale, 'decimal')}`,
    };
  }
  const limit = powerOfTen(precision);
  if (units >= limit || units <= -limit) {
    const whole = precision - scale;
    return {
      problem:
        whole === 0
          ? 'must be between -1 and 1'
          : `must have at most ${counted(whole, 'digit')} before the point`,
    };
  }
  return { value: textOf({ units, scale }) };
}

/** A decimal of any scale, such as an argument of a function: all its digits, without an exponent. */
export function plainDecimal(json: unknown): string | undefined {
  if (typeof json === 'number' && !isExactNumber(json)) return undefined;
  if (typeof json !== 'string' && typeof json !== 'number') return undefined;
  const decimal = decimalFromText(String(json));
  if (decimal === undefined || decimal.scale > mostDigits) return undefined;
  const limit = powerOfTen(mostDigits);
  return decimal.units < limit && decimal.units > -limit ? textOf(decimal) : undefined;
}

/** Whether a double stands for one number of so few digits only. */
function isExactNumber(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) >= 10 ** digitsOfDouble) return false;
  const digits = String(Math.abs(value)).replace(/e.*$/, '').replace('.', '').replace(/^0+/, '');
  return digits.length <= digitsOfDouble;
}

/** The sum of numbers with this scale, from the sums of the parts that SQLite can add. */
export function decimalTotal(high: bigint, low: bigint, scale: number): string {
  return textOf({ units: high * partOfTotal + low, scale });
}

/** Sums of parts up to this number do not exceed 64 bits, however many rows there are. */
export const partOfTotal = 1_000_000_000n;

/** Decimals that an average has in addition to those of the attribute. */
export const moreDecimals = 4;

/** The average of `count` numbers, rounded half away from zero. */
export function decimalAverage(high: bigint, low: bigint, count: bigint, scale: number): string {
  const dividend = (high * partOfTotal + low) * powerOfTen(moreDecimals) * 2n;
  const half = dividend < 0n ? -count : count;
  return textOf({ units: (dividend + half) / (count * 2n), scale: scale + moreDecimals });
}

/**
 * A text that sorts as the number does. A negative number has the complements of its digits.
 * @param text as {@link textOf} writes it
 */
export function sortableDecimal(text: string): string {
  const isNegative = text.startsWith('-');
  const [whole = '', fraction = ''] = text.slice(isNegative ? 1 : 0).split('.');
  const digits =
    whole.padStart(farthest + 1, '0') + fraction.padEnd(farthest + readDigits + 1, '0');
  return isNegative ? `-${digits.replaceAll(/\d/g, (digit) => String(9 - Number(digit)))}` : digits;
}

function unitsAt(
  { units, scale }: Decimal,
  wanted: number,
  rounding: Rounding,
): bigint | undefined {
  if (scale <= wanted) return units * powerOfTen(wanted - scale);
  const divisor = powerOfTen(scale - wanted);
  const quotient = units / divisor;
  const rest = units % divisor;
  if (rest === 0n) return quotient;
  switch (rounding) {
    case 'exact':
      return undefined;
    case 'floor':
      return rest < 0n ? quotient - 1n : quotient;
    case 'ceiling':
      return rest > 0n ? quotient + 1n : quotient;
  }
}

export function textOf({ units, scale }: Decimal): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  if (scale === 0) return `${sign}${digits}`;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** A number without any rounding; `undefined` for what is none, or has more digits than any use needs. */
export function exactDecimal(value: unknown): Decimal | undefined {
  if (typeof value === 'number' && !isExactNumber(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const decimal = decimalFromText(String(value));
  const limit = powerOfTen(farthest);
  if (decimal === undefined || decimal.scale >= farthest) return undefined;
  return decimal.units < limit && decimal.units > -limit ? decimal : undefined;
}

/** Rounded half away from zero where it has more decimals. */
export function roundedUnits({ units, scale }: Decimal, wanted: number): bigint {
  if (scale <= wanted) return units * powerOfTen(wanted - scale);
  const divisor = powerOfTen(scale - wanted);
  return (units * 2n + (units < 0n ? -divisor : divisor)) / (divisor * 2n);
}

function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
