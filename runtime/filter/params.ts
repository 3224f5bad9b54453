import type { RequestError } from '../protocol/errors.js';
import type { PlaceholderValue } from './ast.js';
import { filterError } from './filter-error.js';
import { placeholderName } from './placeholder.js';

/** `$params`, values for placeholders: a list for `:1`, `:2`, …, an object for `:name` and `:name.member`. */
export type FilterParams = readonly unknown[] | Readonly<Record<string, unknown>>;

/**
 * The value that a request gives for a placeholder (protocol 7.7). Members that every object inherits are none.
 * @throws RequestError 400 with 1279 when there is none
 */
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

/**
 * Refuses a parameter of the wrong kind (protocol 7.7).
 * @param expected `a list`, for instance
 * @param place of the value in the parameter
 */
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

/** What a JSON value is, in words. */
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
