import { ResultError } from './result.js';

/** Levels of lists and objects in a result. */
const maxDepth = 500;

/**
 * A result as a tree that `JSON.stringify` writes unchanged (protocol P11.21 to P11.23):
 *
 * - a `Date` is ISO 8601 with milliseconds and `Z`; `undefined` is null, and left out as a member
 *   of an object;
 * - NaN and infinities are null; a `bigint` is a number up to 2^53, a text of digits beyond;
 * - a `Map` is an object, a `Set` and an array of numbers such as `Float32Array` are lists;
 * - an object with `toJSON` is what that returns; the members of an object are its own enumerable
 *   ones.
 *
 * @param replace returns what replaces an object of class code; `undefined` for any other object
 * @throws ResultError for what contains itself, bytes, functions and symbols, an invalid date, more
 * than 500 levels, an error, a stream, and an object of a class without members of its own, such as
 * a generator or a RegExp
 */
export function plainValue(value: unknown, replace: (value: object) => unknown): unknown {
  return plain(value, { replace, around: new Set() });
}

interface PlainWalk {
  readonly replace: (value: object) => unknown;
  /** The objects around the current one. */
  readonly around: Set<object>;
}

function plain(value: unknown, walk: PlainWalk): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'undefined':
      return null;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
    case 'symbol':
    case 'function':
      throw new ResultError(`it holds a ${typeof value}, which is no JSON`);
    case 'object': {
      if (value === null) return null;
      const replaced = walk.replace(value);
      return replaced === undefined ? inside(value, walk) : replaced;
    }
  }
}

function inside(value: object, walk: PlainWalk): unknown {
  const { around } = walk;
  if (around.has(value)) throw new ResultError('it holds itself');
  if (around.size === maxDepth) throw new ResultError(`it nests more than ${maxDepth} levels`);
  around.add(value);
  const result = plainObject(value, walk);
  around.delete(value);
  return result;
}

function plainObject(value: object, walk: PlainWalk): unknown {
  if (value instanceof Date) return isoDate(value);
  if (value instanceof Uint8Array || value instanceof ArrayBuffer || value instanceof DataView) {
    throw new ResultError('it holds bytes, which are no JSON: return them alone, or as a text');
  }
  if (value instanceof Promise) throw new ResultError('it holds a promise that was not awaited');
  if (value instanceof Map) {
    return members(value, walk);
  }
  if (Array.isArray(value) || value instanceof Set || ArrayBuffer.isView(value)) {
    return Array.from(value as Iterable<unknown>, (each) => plain(each, walk));
  }
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return plain(toJSON.call(value), walk);
  const found = Object.entries(value);
  const kind = noJson(value, found.length === 0);
  if (kind !== undefined) {
    throw new ResultError(
      `it holds ${kind}, which is no JSON: give it a toJSON, or return a plain object`,
    );
  }
  return members(found, walk);
}

/** Whether an object would be sent without its contents, which is never intended. */
function noJson(value: object, isEmpty: boolean): string | undefined {
  if (value instanceof Error) return 'an error';
  if (Symbol.asyncIterator in value) return 'a stream';
  return isEmpty && !isPlain(value)
    ? `an object of ${className(value)} without members`
    : undefined;
}

/** Also one of another realm, or without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function className({ constructor }: object): string {
  return typeof constructor === 'function' && constructor.name !== ''
    ? constructor.name
    : 'a class';
}

function members(entries: Iterable<readonly [unknown, unknown]>, walk: PlainWalk): object {
  const named: [string, unknown][] = [];
  for (const [name, member] of entries) {
    if (typeof name !== 'string' && typeof name !== 'number') {
      throw new ResultError('it holds a Map whose keys are neither texts nor numbers');
    }
    if (member !== undefined) named.push([String(name), plain(member, walk)]);
  }
  // Not by assignment: a member may be called `__proto__`.
  return Object.fromEntries(named);
}

function isoDate(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new ResultError('it holds an invalid date');
  return date.toISOString();
}
