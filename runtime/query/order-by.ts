import { type RequestError, refuse } from '../protocol/errors.js';
import {
  bracketedName,
  dottedPath,
  found,
  type LongNames,
  nameEnd,
  readName,
  type ReadName,
  writtenName,
} from '../protocol/names.js';
import { blanksEnd } from '../filter/lexer.js';

/** One attribute to sort by. */
export interface OrderItem {
  /** Relations, then an attribute. */
  readonly path: readonly string[];
  readonly descending: boolean;
  /** The place of the item in words, with which errors begin. */
  readonly place: string;
  /** The names that the path may use, if they differ from those of the rest of the order. */
  readonly names?: 'exposed' | 'granted';
}

/** The place of an order, for its errors. */
export interface OrderOrigin {
  readonly parameter: '$orderby' | '$filter' | '$subOrderby';
  /** Offset of the order in the parameter's text. */
  readonly start: number;
}

/** An object has any number of properties, and no database sorts by so many. */
export const maxOrderItems = 100;

interface ReadItem {
  readonly item: OrderItem;
  /** Offset behind the item and the spaces after it. */
  readonly end: number;
}

/**
 * Reads an `$orderby` (protocol P3.6), without the quotes around it: paths, each with `ASC` or
 * `DESC` in any case, `ASC` if neither is written. A path that was named before changes nothing and
 * is left out. The properties of an object are names of a path, too.
 *
 * @param origin of what stands behind `order by` in a filter (filters F9)
 * @param long names of the model that need no brackets
 * @example parseOrderBy('employer.name desc, lastName')
 * @throws RequestError 400 with 1810, or 1278 for `eval(`; the message names the character, counted
 * from 1
 */
export function parseOrderBy(
  text: string,
  origin: OrderOrigin = { parameter: '$orderby', start: 0 },
  long?: LongNames,
): readonly OrderItem[] {
  const items: OrderItem[] = [];
  const named = new Set<string>();
  for (let at = 0; ; at += 1) {
    const { item, end } = readItem(text, blanksEnd(text, at), origin, long);
    const name = item.path.map(writtenName).join('.');
    if (!named.has(name)) {
      if (items.length === maxOrderItems) {
        throw orderError(origin, at, `an order names at most ${maxOrderItems} attributes`);
      }
      named.add(name);
      items.push(item);
    }
    if (end === text.length) return items;
    if (text.charCodeAt(end) !== 0x2c) {
      throw orderError(origin, end, `expected a comma or the end, ${found(text, end)}`);
    }
    at = end;
  }
}

function readItem(
  text: string,
  start: number,
  origin: OrderOrigin,
  long: LongNames | undefined,
): ReadItem {
  const nameAt = (at: number): ReadName | undefined =>
    bracketedName(text, at) ?? readName(text, at, long);
  const { path, end } = dottedPath(text, start, nameAt);
  if (path.length === 0)
    throw orderError(origin, start, `expected an attribute, ${found(text, start)}`);
  if (text.charCodeAt(end) === 0x2e) {
    throw orderError(origin, end + 1, `expected a name after the dot, ${found(text, end + 1)}`);
  }
  const mark = text.charCodeAt(end);
  if (mark === 0x5b || mark === 0x7b) {
    const what = mark === 0x5b ? 'elements of an array' : 'another related entity';
    const problem = `nothing is ordered by ${what}`;
    throw orderError(origin, end, `${problem}, ${found(text, end)}`);
  }
  const itemPlace = place(origin, start);
  const directionAt = blanksEnd(text, end);
  if (text.charCodeAt(directionAt) === 0x28 && path.join('.').toLowerCase() === 'eval') {
    throw refuse('formulaNotAllowed', `${itemPlace}: formulas are not allowed.`);
  }
  const directionEnd = nameEnd(text, directionAt);
  if (directionEnd === directionAt) {
    return { item: { path, descending: false, place: itemPlace }, end: directionAt };
  }
  const direction = text.slice(directionAt, directionEnd).toLowerCase();
  if (direction !== 'asc' && direction !== 'desc') {
    throw orderError(
      origin,
      directionAt,
      `expected ASC, DESC or a comma, ${found(text, directionAt)}`,
    );
  }
  const item = { path, descending: direction === 'desc', place: itemPlace };
  return { item, end: blanksEnd(text, directionEnd) };
}

function place({ parameter, start }: OrderOrigin, offset: number): string {
  return `Character ${start + offset + 1} of ${parameter}`;
}

function orderError(origin: OrderOrigin, offset: number, problem: string): RequestError {
  return refuse('orderBy', `${place(origin, offset)}: ${problem}.`);
}
