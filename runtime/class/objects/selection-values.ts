import type { FilterParams } from '../../filter/params.js';
import { type RequestError, refuse } from '../../protocol/errors.js';
import { findState } from './entity-state.js';

/**
 * The values of class code for the placeholders of a filter, in the form of `$params`: a list for
 * `:1`, `:2`, …, or one object for `:name`. A `Date` is an instant, an entity its key, an array a
 * list behind `IN`; a vector comparison is an object with a `vector`.
 *
 * @throws RequestError 400 with 1279 for `undefined`, 1280 for what cannot be a value
 */
export function paramsOf(values: readonly unknown[]): FilterParams | undefined {
  if (values.length === 0) return undefined;
  const [only] = values;
  if (values.length === 1 && isPlain(only) && !('vector' in only)) {
    const entries = Object.entries(only);
    return Object.fromEntries(entries.map(([name, value]) => [name, param(value, name)]));
  }
  return values.map((value, index) => param(value, String(index + 1)));
}

function param(value: unknown, name: string): unknown {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      if (Number.isSafeInteger(Number(value))) return Number(value);
      throw wrong(name, 'an integer beyond those that are exact');
    case 'undefined':
      throw refuse(
        'placeholderMissing',
        `The value of :${name} is undefined; null finds what has no value.`,
      );
    case 'object':
      return value === null ? null : objectParam(value, name);
    case 'function':
    case 'symbol':
      throw wrong(name, `a ${typeof value}`);
  }
}

function objectParam(value: object, name: string): unknown {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw wrong(name, 'a Date without a time');
    return value.toISOString();
  }
  if (Array.isArray(value)) return value.map((each) => param(each, name));
  if (isNumbers(value)) return Array.from(value);
  const entity = findState(value);
  if (entity !== undefined) {
    if (entity.key !== null) return entity.key;
    throw wrong(name, 'an entity that has no key yet: save it first');
  }
  if (!isPlain(value)) throw wrong(name, `an object of class ${value.constructor.name}`);
  const { vector } = value;
  return isNumbers(vector) ? { ...value, vector: Array.from(vector) } : value;
}

function wrong(name: string, found: string): RequestError {
  const expected = 'a text, a number, a boolean, a Date, an entity, null, a list of those';
  const problem = `expected ${expected}, or an object with a vector, found ${found}`;
  return refuse('placeholderType', `The value of :${name}: ${problem}.`);
}

function isNumbers(value: unknown): value is Iterable<number> {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
