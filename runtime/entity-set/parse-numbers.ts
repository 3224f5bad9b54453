import { numberFromText } from '../protocol/numbers.js';
import { badKeys } from './bad-keys.js';
import { compactNumbers, NumberKeys } from './number-keys.js';

const comma = 0x2c;
const point = 0x2e;
const zero = 0x30;

/** @param bytes numbers with commas between; one at least */
export function parseNumbers(type: 'integer' | 'number', bytes: Uint8Array): NumberKeys {
  const short = type === 'integer' ? parseShortIntegers(bytes) : undefined;
  if (short !== undefined) return new NumberKeys(type, short);
  // A key takes up two bytes at least; memory that is not written to costs nothing.
  const values = new Float64Array((bytes.length >>> 1) + 1);
  let count = 0;
  for (let start = 0; start <= bytes.length; count += 1) {
    const comesAt = bytes.indexOf(comma, start);
    const end = comesAt === -1 ? bytes.length : comesAt;
    values[count] = parseNumber(type, bytes, start, end);
    start = end + 1;
  }
  return compactNumbers(type, values.slice(0, count));
}

/** `undefined` unless all are digits alone and below 2^32. */
function parseShortIntegers(bytes: Uint8Array): Uint32Array | undefined {
  const values = new Uint32Array((bytes.length >>> 1) + 1);
  let count = 0;
  let value = 0;
  let previous = comma;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    const digit = byte - zero;
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      if (value > 0xff_ff_ff_ff) return undefined;
    } else {
      if (byte !== comma || previous === comma) return undefined;
      values[count] = value;
      count += 1;
      value = 0;
    }
    previous = byte;
  }
  if (previous === comma) return undefined;
  values[count] = value;
  return values.slice(0, count + 1);
}

const powersOfTen = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** A few digits with or without a fraction are exact integers and an exact power of ten, and so is their quotient rounded once. */
function parseNumber(
  type: 'integer' | 'number',
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const isNegative = bytes[start] === 0x2d;
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
