import type { ClientValueType } from './table.js';
import type { JsonValue } from './types.js';

/** A value of an answer as users see it (`client.md#values`). */
export function decodeValue(type: ClientValueType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (type) {
    case 'date':
      return typeof value === 'string' ? new Date(value) : value;
    case 'day':
      return typeof value === 'string' ? isoDay(value) : value;
    case 'object':
      return frozen(value as JsonValue);
    case 'plain':
    case 'image':
    case 'blob':
      return value;
  }
}

/** `7!2!2020` is a day of servers with `dateOnlyFormat: bang`. */
function isoDay(text: string): string {
  const [, day = '', month = '', year = ''] = /^(\d+)!(\d+)!(\d+)$/.exec(text) ?? [];
  if (year === '') return text;
  return `${year.padStart(4, '0')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

function frozen(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value) as readonly JsonValue[]) frozen(each);
  return Object.freeze(value);
}

/**
 * A value as JSON has it.
 * @param what names the value in the message of the error
 * @param special turns objects that have a form of their own into it
 * @throws TypeError for what JSON would drop or change silently
 */
export function encodeValue(
  value: unknown,
  what: string,
  special: (value: object) => unknown = () => undefined,
): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      throw new TypeError(`${what} is ${value}, which JSON cannot hold.`);
    case 'bigint':
      if (Number.isSafeInteger(Number(value))) return Number(value);
      throw new TypeError(`${what} is an integer beyond 2^53 - 1, which is not exact.`);
    case 'undefined':
      throw new TypeError(`${what} is undefined; null stands for no value.`);
    case 'function':
    case 'symbol':
      throw new TypeError(`${what} is a ${typeof value}.`);
    case 'object':
      return value === null ? null : encodeObject(value, what, special);
  }
}

function encodeObject(value: object, what: string, special: (value: object) => unknown): unknown {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`${what} is a Date without a time.`);
    return value.toISOString();
  }
  const own = special(value);
  if (own !== undefined) return own;
  if (Array.isArray(value)) {
    return value.map((each, at) => encodeValue(each, `${what}[${at}]`, special));
  }
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) {
    return Array.from(value as unknown as Iterable<number>);
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([name, member]) => [name, encodeValue(member, `${what}.${name}`, special)]),
  );
}

/** Whether two values that users see are the same. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Bytes that are uploaded before they are used. */
export function asBlob(value: unknown): Blob | undefined {
  if (value instanceof Blob) return value;
  // A copy, so that the caller may use the array again; the types of browsers take no shared memory.
  if (value instanceof Uint8Array) return new Blob([value.slice()]);
  return undefined;
}

/** The part of an address that names an entity: `Company(7)`. */
export function entityPath(dataclass: string, key: string | number): string {
  return `/${encodeURIComponent(dataclass)}(${keyText(String(key))})`;
}

/** A key in an address: encoded, and in quotes if it is empty or begins with one. */
function keyText(key: string): string {
  const encoded = encodeURIComponent(key).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return key === '' || key.startsWith('"') || key.startsWith("'") ? `%22${encoded}%22` : encoded;
}
