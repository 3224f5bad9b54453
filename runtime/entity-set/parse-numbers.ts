import { numberFromText } from '../protocol/numbers.js';
import { badKeys } from './bad-keys.js';
import { compactNumbers, type NumberKeys } from './number-keys.js';
import type { NumberArray } from './number-members.js';

const comma = 0x2c;
const point = 0x2e;
const minus = 0x2d;
const zero = 0x30;

/** @param bytes numbers with commas between; one at least */
export function parseNumbers(type: 'integer' | 'number', bytes: Uint8Array): NumberKeys {
  // A key takes at least two bytes; memory that is never written costs nothing.
  const most = (bytes.length >>> 1) + 1;
  if (type === 'integer') {
    const integers =
      parseIntegers(bytes, new Uint32Array(most)) ?? parseIntegers(bytes, new Float64Array(most));
    if (integers !== undefined) return compactNumbers(type, integers);
  }
  const values = new Float64Array(most);
  let count = 0;
  for (let start = 0; start <= bytes.length; count += 1) {
    const comesAt = bytes.indexOf(comma, start);
    const end = comesAt === -1 ? bytes.length : comesAt;
    values[count] = parseNumber(type, bytes, start, end);
    start = end + 1;
  }
  return compactNumbers(type, values.slice(0, count));
}

/** `undefined` if a key is not an integer that the array can hold exactly. */
function parseIntegers(bytes: Uint8Array, values: NumberArray): NumberArray | undefined {
  const end = bytes.length;
  const isShort = values instanceof Uint32Array;
  const largest = isShort ? 0xff_ff_ff_ff : Number.MAX_SAFE_INTEGER;
  if (bytes[end - 1] === comma) return undefined;
  let count = 0;
  for (let at = 0; at < end; at += 1) {
    const isNegative = bytes[at] === minus;
    if (isNegative) {
      if (isShort) return undefined;
      at += 1;
    }
    let value = (bytes[at] as number) - zero;
    if (!(value >= 0 && value <= 9)) return undefined;
    for (at += 1; at < end && bytes[at] !== comma; at += 1) {
      const digit = (bytes[at] as number) - zero;
      if (digit < 0 || digit > 9) return undefined;
      value = value * 10 + digit;
    }
    if (value > largest) return undefined;
    values[count] = isNegative ? 0 - value : value;
    count += 1;
  }
  return values.slice(0, count);
}

const powersOfTen = Array.from({ length: 16 }, (_, power) => 10 ** power);

/**
 * A few digits with or without a fraction are an exact integer and an exact power of ten, and their
 * quotient is rounded once.
 */
function parseNumber(
  type: 'integer' | 'number',
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  let mantissa = 0;
  let pointAt = end - 1;
  let at = first;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - zero;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (bytes[at] === point && pointAt === end - 1 && at > first && at < end - 1) pointAt = at;
    else break;
  }
  const power = powersOfTen[end - 1 - pointAt];
  const isPlain = at === end && first < end && mantissa <= Number.MAX_SAFE_INTEGER;
  const value =
    isPlain && power !== undefined
      ? (isNegative ? -mantissa : mantissa) / power + 0
      : numberFromText(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  const isKey = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (value === undefined || !isKey) {
    throw badKeys(type, JSON.stringify(Buffer.from(bytes.subarray(start, end)).toString('latin1')));
  }
  return value;
}
