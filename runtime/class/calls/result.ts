import { findState } from '../objects/entity-state.js';
import { isMedia } from '../objects/media-handle.js';
import { findSelection } from '../objects/selection.js';
import type { Media } from '../objects/types.js';
import type { FunctionDefinition, FunctionType } from '../../protocol/definition.js';
import type { StorageType } from '../../protocol/storage-type.js';
import { dayFromText } from '../../protocol/dates.js';
import { plainDecimal } from '../../protocol/decimal.js';
import { setMember } from '../../protocol/own-member.js';
import { normaliseUuid } from '../../protocol/uuid.js';
import { OutgoingMessage } from '../objects/outgoing-message.js';

/** What a function returned, by the way it is answered (protocol P11.15 to P11.20). */
export type Result =
  | { readonly kind: 'entity'; readonly dataclass: string; readonly entity: object }
  | { readonly kind: 'selection'; readonly dataclass: string; readonly selection: object }
  | { readonly kind: 'message'; readonly message: OutgoingMessage }
  /** Bytes, or the image or BLOB of an entity. */
  | { readonly kind: 'media'; readonly media: Uint8Array | Media }
  /** Becomes `result` of the answer. */
  | { readonly kind: 'value'; readonly value: unknown };

/** A function returned what its declaration does not allow, or what cannot be sent: a mistake of its code. */
export class ResultError extends Error {}

/**
 * Classifies what a function returned. Unless its result is mandatory, null and undefined are
 * allowed for each type.
 * @throws ResultError if it returned something else than it declares
 */
export function resultOf(
  { returns: type, mandatoryResult }: Pick<FunctionDefinition, 'returns' | 'mandatoryResult'>,
  value: unknown,
): Result {
  if (type === 'void') return { kind: 'value', value: null };
  checkResult(type, value, mandatoryResult === true);
  if (value === undefined || value === null) return { kind: 'value', value: null };
  if (type === 'any') return anyResult(value);
  if (type === 'message') return { kind: 'message', message: value as OutgoingMessage };
  if (type === 'image' || type === 'blob') return { kind: 'media', media: value as Media };
  if (typeof type === 'object' && 'entity' in type) {
    return { kind: 'entity', dataclass: type.entity, entity: value };
  }
  if (typeof type === 'object' && 'selection' in type) {
    return { kind: 'selection', dataclass: type.selection, selection: value };
  }
  return { kind: 'value', value };
}

function anyResult(value: unknown): Result {
  if (value instanceof OutgoingMessage) return { kind: 'message', message: value };
  const entity = entityDataclass(value);
  if (entity !== undefined) return { kind: 'entity', dataclass: entity, entity: value as object };
  const dataclass = selectionDataclass(value);
  if (dataclass !== undefined) return { kind: 'selection', dataclass, selection: value as object };
  if (isBytes(value)) return { kind: 'media', media: value as Uint8Array | Media };
  return { kind: 'value', value };
}

/** The dataclass of an entity object; `undefined` for anything else. */
export function entityDataclass(value: unknown): string | undefined {
  return isObject(value) ? findState(value)?.code.dataclass.name : undefined;
}

/** The dataclass of an entity selection; `undefined` for anything else. */
export function selectionDataclass(value: unknown): string | undefined {
  return isObject(value) ? findSelection(value)?.code.dataclass.name : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array || isMedia(value);
}

/** @param index of the value in the list around it */
function checkResult(
  type: FunctionType,
  value: unknown,
  isMandatory: boolean,
  index?: number,
): void {
  if (value === undefined || value === null) {
    if (!isMandatory) return;
    const problem = `is ${String(value)}, and the model declares it as mandatory`;
    throw new ResultError(`${placeOf(index)} ${problem}`);
  }
  if (typeof type === 'object' && 'list' in type) {
    if (!Array.isArray(value)) throw unexpected(index, type, value);
    const list: readonly unknown[] = value;
    for (let at = 0; at < list.length; at += 1) checkResult(type.list, list[at], isMandatory, at);
    return;
  }
  if (!isOf(type, value)) throw unexpected(index, type, value);
}

/** How a message names a value. */
function placeOf(index: number | undefined): string {
  return index === undefined ? 'it' : `item ${index}`;
}

function isOf(
  type: Exclude<FunctionType, { readonly list: FunctionType }>,
  value: unknown,
): boolean {
  if (typeof type === 'object') {
    return 'entity' in type
      ? entityDataclass(value) === type.entity
      : selectionDataclass(value) === type.selection;
  }
  return type === 'message'
    ? value instanceof OutgoingMessage
    : type === 'image' || type === 'blob'
      ? isBytes(value)
      : isScalar(type, value);
}

function isScalar(
  type: Exclude<StorageType, 'image' | 'blob'> | 'dateOnly' | 'any' | 'void',
  value: unknown,
): boolean {
  switch (type) {
    case 'any':
    case 'void':
      return true;
    case 'string':
      return typeof value === 'string';
    case 'uuid':
      return typeof value === 'string' && normaliseUuid(value) !== undefined;
    case 'number':
      return typeof value === 'number';
    case 'decimal':
      return typeof value === 'string' && plainDecimal(value) !== undefined;
    case 'integer':
    case 'duration':
      return Number.isSafeInteger(value) || isSafeBigint(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'date':
      return value instanceof Date;
    case 'dateOnly':
      return typeof value === 'string' && dayFromText(value) !== undefined;
    case 'object':
      return typeof value === 'object';
    case 'vector':
      return isNumbers(value);
  }
}

function isSafeBigint(value: unknown): boolean {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value));
}

function isNumbers(value: unknown): boolean {
  if (value instanceof Float32Array || value instanceof Float64Array) return true;
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}

function unexpected(index: number | undefined, type: FunctionType, value: unknown): ResultError {
  return new ResultError(`${placeOf(index)} is ${shown(value)}, and declared as ${typeName(type)}`);
}

function typeName(type: FunctionType): string {
  if (typeof type === 'string') return type;
  if ('list' in type) return `${typeName(type.list)}[]`;
  return 'entity' in type ? type.entity : `${type.selection}.selection`;
}

/** Only the kind of a value: its content must not be in a log. */
function shown(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  const { constructor } = value as { readonly constructor?: unknown };
  return typeof constructor === 'function' ? `a ${constructor.name}` : 'an object';
}

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
      if (value instanceof Date) return isoDate(value);
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
  if (Array.isArray(value)) return items(value, walk);
  if (value instanceof Uint8Array || value instanceof ArrayBuffer || value instanceof DataView) {
    throw new ResultError('it holds bytes, which are no JSON: return them alone, or as a text');
  }
  if (value instanceof Promise) throw new ResultError('it holds a promise that was not awaited');
  if (value instanceof Map) return mapMembers(value, walk);
  if (value instanceof Set || ArrayBuffer.isView(value)) {
    return items(value as unknown as Iterable<unknown>, walk);
  }
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return plain(toJSON.call(value), walk);
  const names = Object.keys(value);
  const kind = noJson(value, names.length === 0);
  if (kind !== undefined) {
    throw new ResultError(
      `it holds ${kind}, which is no JSON: give it a toJSON, or return a plain object`,
    );
  }
  const result = {};
  for (const name of names) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member !== undefined) setMember(result, name, plain(member, walk));
  }
  return result;
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

function items(values: Iterable<unknown>, walk: PlainWalk): readonly unknown[] {
  const result: unknown[] = [];
  for (const each of values) result.push(plain(each, walk));
  return result;
}

function mapMembers(map: ReadonlyMap<unknown, unknown>, walk: PlainWalk): object {
  const result = {};
  for (const [name, value] of map) {
    if (typeof name !== 'string' && typeof name !== 'number') {
      throw new ResultError('it holds a Map whose keys are neither texts nor numbers');
    }
    if (value !== undefined) setMember(result, String(name), plain(value, walk));
  }
  return result;
}

function isoDate(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new ResultError('it holds an invalid date');
  return date.toISOString();
}
