import { createHash } from 'node:crypto';
import type { Identity } from '../import/source-model.js';

/** The position of a row among the rows of its table, in a form that JSON keeps. */
export type Place = readonly (string | number)[];

export interface SourceRow {
  readonly place: Place;
  /** What the source knows the row by: the values of its key, else its place. */
  readonly identity: readonly unknown[];
  /** Values in the order of the columns that were asked for. */
  readonly values: readonly unknown[];
}

/** A column of a source, with the type of the attribute that it becomes. */
export interface ReadColumn {
  readonly column: string;
  readonly type: string;
  readonly isDateOnly: boolean;
}

/** The rows of a source. It shows the same rows in the same order whenever it is read. */
export interface RowSource {
  /** The name of the source, for messages. */
  readonly shown: string;
  /** A table, for people. */
  tableName(table: Identity): string;
  count(table: Identity): Promise<number>;
  /** Set if the source stores blank values instead of null: a blank text in a unique attribute becomes null. */
  readonly keepsBlanks?: true;
  /** The next rows behind a place, at most so many; none at the end. */
  read(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): Promise<readonly SourceRow[]>;
  close(): Promise<void>;
}

/** About the most bytes that are read at once. */
export const mostBytes = 8 * 1024 * 1024;

/** About how many bytes of memory a value takes. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return value instanceof Uint8Array ? value.length : 8;
}

/** A value of a source that no attribute of the type can have. */
export class Unusable {
  /** @param message a predicate: `holds a time of day` */
  constructor(readonly message: string) {}
}

/** A value that `--odd-values null` makes null. */
export class Odd extends Unusable {
  constructor(value: unknown, type: string) {
    super(`is ${shownText(value)}, which no ${type} can be; --odd-values null makes it null`);
  }
}

/** A key for a row that has none: the same one at every run. */
export function madeKey(table: Identity, identity: readonly unknown[]): string {
  const text = JSON.stringify([table, ...identity.map(plain)]);
  const hash = createHash('sha256').update(text).digest();
  // Version 8, and the variant of RFC 9562: a UUID of one's own making.
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).toUpperCase();
}

/** A value as JSON can have it, for people and for a second attempt. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  return value;
}

/**
 * A value of a database as a JSON body has it: dates and times as PostgreSQL and SQLite write them.
 * The server checks it further.
 */
export function jsonValue(value: unknown, { type, isDateOnly }: ReadColumn): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Unusable) return value;
  switch (type) {
    case 'string':
      return value instanceof Uint8Array
        ? new Unusable('holds bytes, which are no text')
        : shownText(value);
    case 'uuid':
      return value instanceof Uint8Array && value.length === 16
        ? Buffer.from(value).toString('hex')
        : value;
    case 'boolean':
      return booleanOf(value);
    case 'date': {
      const date = isDateOnly ? dayOf(value) : instantOf(value);
      return typeof date === 'string' && oddDate.test(date) ? new Odd(value, type) : date;
    }
    case 'duration':
    case 'number':
    case 'integer':
    case 'decimal':
      return oddNumber.test(shownText(value)) ? new Odd(value, type) : numericOf(value, type);
    case 'object':
      if (typeof value === 'object') return value;
      return typeof value === 'string' ? parsed(value) : new Unusable('is no JSON');
    case 'vector':
      return vectorOf(value);
    case 'image':
    case 'blob':
      if (value instanceof Uint8Array) return value;
      return typeof value === 'string'
        ? Buffer.from(value)
        : new Unusable('is neither bytes nor text');
    default:
      return value;
  }
}

/** Infinity, and years that are not 0000 to 9999, in the forms of databases and of ISO 8601. */
const oddDate = /^(?:[+-]?infinity|[+-]\d+-.*|\d{5,}-.*|.* BC)$/i;
const oddNumber = /^(?:NaN|[+-]?infinity)$/i;

function numericOf(value: unknown, type: string): unknown {
  if (type === 'duration') return durationOf(value);
  if (typeof value !== 'bigint') return value;
  return type === 'decimal' ? String(value) : numberOf(value);
}

function shownText(value: unknown): string {
  return typeof value === 'string' ? value : String(value);
}

function numberOf(value: bigint): unknown {
  const number = Number(value);
  return BigInt(number) === value && Number.isSafeInteger(number)
    ? number
    : new Unusable(`is beyond 2^53: ${String(value)}`);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['t', true],
  ['0', false],
  ['false', false],
  ['f', false],
]);

function booleanOf(value: unknown): unknown {
  return booleans.get(shownText(value).toLowerCase()) ?? new Unusable(`is not true or false`);
}

const dateForm =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d)?(?::\d\d)?)?)?$/;

function dayOf(value: unknown): unknown {
  if (typeof value !== 'string') {
    const instant = instantOf(value);
    if (typeof instant !== 'string') return instant;
    const [day, time] = instant.split('T');
    return time === '00:00:00.000Z' ? day : new Unusable('holds a time of day');
  }
  const [, day, time = '00:00', seconds = '00', fraction = '0'] = dateForm.exec(value) ?? [];
  if (day === undefined) return value;
  const isMidnight = time === '00:00' && Number(seconds) === 0 && Number(fraction) === 0;
  return isMidnight ? day : new Unusable('holds a time of day');
}

/** Texts without a zone are in UTC. */
function instantOf(value: unknown): unknown {
  if (typeof value !== 'string') return instantOfNumber(value);
  const [, day, time = '00:00', seconds = '00', fraction = '', zone = 'Z'] =
    dateForm.exec(value) ?? [];
  if (day === undefined) return value;
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const local = `${day}T${time}:${seconds}.${milliseconds}Z`;
  if (zone === 'Z') return local;
  const [, sign, hours = '', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?/.exec(zone) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const instant = Date.parse(local) - offset;
  return Number.isNaN(instant) ? value : isoOf(instant);
}

/** The moment that a number means in SQLite: a real number is a Julian day, an integer counts seconds. */
function instantOfNumber(value: unknown): unknown {
  if (typeof value !== 'number' && typeof value !== 'bigint') return new Unusable('is no date');
  const number = Number(value);
  if (!Number.isInteger(number) && number > 1_000_000 && number < 6_000_000) {
    return isoOf(Math.round((number - 2_440_587.5) * 86_400_000));
  }
  // What counts milliseconds is greater than any second of this millennium.
  return isoOf(Math.abs(number) < 100_000_000_000 ? number * 1000 : number);
}

function isoOf(milliseconds: number): unknown {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? new Unusable('is no date') : date.toISOString();
}

const timeForm = /^(-?)(\d+):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/;

/** Milliseconds, of a time of day or of a number of milliseconds. */
function durationOf(value: unknown): unknown {
  if (typeof value === 'bigint') return numberOf(value);
  if (typeof value !== 'string') return value;
  const [, sign, hours, minutes, seconds = '0', fraction = ''] = timeForm.exec(value.trim()) ?? [];
  if (hours === undefined) return value;
  const all = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const milliseconds = all * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  return sign === '-' ? -milliseconds : milliseconds;
}

function parsed(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    const lost = lostNumber(text);
    return lost === undefined ? value : new Unusable(`holds a number beyond 2^53: ${lost}`);
  } catch {
    return new Unusable('is no JSON');
  }
}

/** A whole number in a JSON text that a double does not hold. */
function lostNumber(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined;
  // Without escaped characters, every second part is outside of texts.
  const parts = json.replaceAll(/\\./g, '').split('"');
  for (let at = 0; at < parts.length; at += 2) {
    for (const number of parts[at]?.match(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g) ?? []) {
      if (BigInt(number) !== BigInt(Number(number))) return number;
    }
  }
  return undefined;
}

/** A list of numbers in JSON, or numbers of single precision one after the other. */
function vectorOf(value: unknown): unknown {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return parsed(value);
  if (!(value instanceof Uint8Array) || value.length % 4 !== 0) return new Unusable('is no vector');
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Array.from({ length: value.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}
