import { UnusableValueError } from '../executor.js';
import type { SqlValue } from '../statement.js';
import type { Column } from './prepared-statements.js';

/** What of a value goes to the database: a text, which that reads by the type it wants, or bytes as they are. */
export type WireValue = string | Buffer | null;

/** @throws UnusableValueError for a text that holds U+0000, which PostgreSQL cannot keep or compare */
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

type Read = (text: string) => SqlValue;

/** By the numbers of PostgreSQL's own types. What is not here stays the text that the database gives. */
const readers: ReadonlyMap<number, Read> = new Map<number, Read>([
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

/** How the values of a column are read. */
export function readerOf({ dataTypeID }: Column): Read | undefined {
  return readers.get(dataTypeID);
}

/** An integer: a number where that is exact. */
function exact(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
