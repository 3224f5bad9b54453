import type { RequestError } from '../protocol/errors.js';
import type { PlaceholderValue } from './ast.js';
import { nameCharacterWidth, nameEnd, found, shortened } from '../protocol/names.js';
import { digitsEnd } from '../protocol/numbers.js';
import { type Cursor, filterError } from './lexer.js';

/** `$params`, values for placeholders: a list for `:1`, `:2`, …, an object for `:name` and `:name.member`. */
export type FilterParams = readonly unknown[] | Readonly<Record<string, unknown>>;

/** The value of a placeholder (filters F13), not an inherited member. @throws RequestError 400 with 1279 */
export function paramOf(params: FilterParams | undefined, placeholder: PlaceholderValue): unknown {
  const { key } = placeholder;
  if (typeof key === 'number') {
    if (isList(params) && key < params.length) return params[key];
  } else {
    let value: unknown = params;
    for (const name of key.split('.')) {
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      if (value === undefined) break;
    }
    if (value !== undefined) return value;
  }
  throw missing(params, placeholder);
}

/** Refuses a parameter of the wrong kind (filters F41): `expected` is `a list`, for instance. */
export function wrongParam(
  placeholder: PlaceholderValue,
  expected: string,
  value: unknown,
  place = '',
): RequestError {
  const what = `expected ${expected} as the value of :${placeholderName(placeholder)} in $params`;
  return filterError(
    placeholder.start,
    `${what}, found ${kindOf(value)}${place}`,
    'placeholderType',
  );
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !isList(value);
}

/** The kind of a JSON value, in words. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (isList(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

function missing(params: FilterParams | undefined, placeholder: PlaceholderValue): RequestError {
  const name = `:${placeholderName(placeholder)}`;
  let problem = `$params has no value for ${name}`;
  if (params !== undefined && typeof placeholder.key === 'number' && !isList(params)) {
    problem = `${name} takes its value from a list, and $params is an object`;
  } else if (typeof placeholder.key === 'string' && isList(params)) {
    problem = `${name} takes its value from an object, and $params is a list`;
  }
  return filterError(placeholder.start, problem, 'placeholderMissing');
}

const lastPlaceholder = 128;

/** The text behind the colon of a placeholder. */
export function placeholderText({ key }: PlaceholderValue): string {
  return typeof key === 'number' ? String(key + 1) : key;
}

/** The text behind the colon of a placeholder, shortened for a message. */
export function placeholderName(placeholder: PlaceholderValue): string {
  return shortened(placeholderText(placeholder));
}

/** Takes `:1` to `:128`, or `:name.name`. */
export function takePlaceholder(cursor: Cursor): PlaceholderValue {
  const { text, at: start } = cursor;
  const digits = digitsEnd(text, start + 1);
  if (digits === start + 1) return takeNamed(cursor);
  const number = digits - start > 4 ? 0 : Number(text.slice(start + 1, digits));
  if (number < 1 || number > lastPlaceholder || nameCharacterWidth(text, digits) !== 0) {
    throw notPlaceholder(start);
  }
  cursor.at = digits;
  return { kind: 'placeholder', key: number - 1, start, end: digits };
}

function takeNamed(cursor: Cursor): PlaceholderValue {
  const { text, at: start } = cursor;
  let end = nameEnd(text, start + 1);
  if (end === start + 1) throw notPlaceholder(start);
  while (text.charCodeAt(end) === 0x2e) {
    const next = nameEnd(text, end + 1);
    if (next === end + 1) {
      throw filterError(next, `expected a name after the dot, ${found(text, next)}`);
    }
    end = next;
  }
  cursor.at = end;
  return { kind: 'placeholder', key: text.slice(start + 1, end), start, end };
}

function notPlaceholder(start: number): Error {
  return filterError(
    start,
    `a placeholder is a colon and a number from 1 to ${lastPlaceholder}, or a colon and a name`,
  );
}
