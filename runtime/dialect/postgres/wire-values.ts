import { UnusableValueError } from '../executor.js';
import type { SqlValue } from '../statement.js';

/** A value as it is sent: a text, which PostgreSQL parses by the expected type, or bytes. */
type WireValue = string | Buffer | null;

/** @throws UnusableValueError for a text with U+0000, which PostgreSQL does not support */
export function toWire(value: SqlValue): WireValue {
  if (value === null) return value;
  if (typeof value === 'string') {
    if (!value.includes('\0')) return value;
    const reason = 'A text holds the character U+0000, which this database cannot keep.';
    throw new UnusableValueError(reason, undefined);
  }
  if (typeof value !== 'object') return String(value);
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

type ReadValue = (text: string) => SqlValue;

const unread: ReadValue = (text) => text;

/** By type number of PostgreSQL's catalog. Values of other types stay texts. */
const readers: ReadonlyMap<number, ReadValue> = new Map<number, ReadValue>([
  // boolean
  [16, (text) => (text === 't' ? 1 : 0)],
  // bytea
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  // bigint, smallint, integer, oid
  [20, exact],
  [21, Number],
  [23, Number],
  [26, Number],
  // real, double precision, numeric
  [700, Number],
  [701, Number],
  [1700, (text) => (/^-?\d+$/.test(text) ? exact(text) : Number(text))],
]);

/** The reader for the values of a column, by the number of its type. */
export function readerOf(type: number): ReadValue {
  return readers.get(type) ?? unread;
}

/** An integer as a number if that is exact, otherwise as a bigint. */
function exact(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
