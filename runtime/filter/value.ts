import { found } from '../protocol/names.js';
import type {
  Comparator,
  FilterValue,
  ListValue,
  SingleValue,
  LiteralValue,
  NullValue,
} from './ast.js';
import { type Cursor, skipBlanks, isBlank, isOrderBy, isWord, filterError } from './lexer.js';
import { takePlaceholder } from './params.js';
import { isNumber } from '../protocol/numbers.js';
import { isWellFormed } from '../protocol/own-text.js';

/**
 * Takes the value of a comparison (filters F10, F13): a placeholder, a quoted text, or a bare
 * value; behind `IN` a list of those, or a placeholder for one.
 *
 * @param maxListSize greatest number of members of a list
 */
export function takeValue(
  cursor: Cursor,
  comparator: Comparator,
  maxListSize: number,
): FilterValue {
  skipBlanks(cursor);
  const { text, at } = cursor;
  const unit = text.charCodeAt(at);
  if (unit === 0x3a) return takePlaceholder(cursor);
  if (comparator === 'in') {
    if (unit === 0x5b) return takeList(cursor, maxListSize);
    const expected = 'expected a list in brackets or a placeholder behind IN';
    throw filterError(at, `${expected}, ${found(text, at)}`);
  }
  switch (unit) {
    case 0x22:
    case 0x27:
      return takeQuoted(cursor);
    case 0x5b: {
      const problem = 'a list stands behind IN only; a value that begins with a bracket';
      throw filterError(at, `${problem} must be quoted`);
    }
    case 0x28:
      throw filterError(at, 'expected a value; one that begins with a parenthesis must be quoted');
    case 0x21:
    case 0x3c:
    case 0x3d:
    case 0x3e:
      throw filterError(at, `expected a value, ${found(text, at)}`);
    default:
      return takeBare(cursor);
  }
}

function takeList(cursor: Cursor, maxListSize: number): ListValue {
  const { text, at: start } = cursor;
  const items: SingleValue[] = [];
  cursor.at = start + 1;
  skipBlanks(cursor);
  if (text.charCodeAt(cursor.at) !== 0x5d) {
    for (;;) {
      if (items.length === maxListSize) {
        throw filterError(cursor.at, `a list has at most ${maxListSize} values`);
      }
      items.push(takeItem(cursor));
      skipBlanks(cursor);
      const unit = text.charCodeAt(cursor.at);
      if (unit === 0x5d) break;
      if (unit !== 0x2c) throw notInList(cursor, start);
      cursor.at += 1;
      skipBlanks(cursor);
    }
  }
  cursor.at += 1;
  return { kind: 'list', items, start, end: cursor.at };
}

function takeItem(cursor: Cursor): SingleValue {
  switch (cursor.text.charCodeAt(cursor.at)) {
    case 0x3a:
      return takePlaceholder(cursor);
    case 0x22:
    case 0x27:
      return takeQuoted(cursor);
    default:
      return takeBareItem(cursor);
  }
}

function notInList({ text, at }: Cursor, start: number): Error {
  if (at === text.length) return filterError(start, 'this list lacks its closing bracket');
  return filterError(at, `expected a comma or the closing bracket of the list, ${found(text, at)}`);
}

const hexDigits = /^[0-9A-Fa-f]{4}$/;
const bareEscape = /\\u002[27]/g;

/** Takes a text in quotes (filters F10). */
function takeQuoted(cursor: Cursor): LiteralValue {
  const { text, at: start } = cursor;
  const quote = text.charCodeAt(start);
  let value = '';
  let copied = start + 1;
  let at = copied;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === quote) break;
    if (at >= text.length) throw unclosed(start, quote);
    if (unit === 0x5c) {
      value += text.slice(copied, at) + escaped(text, at);
      at += text.charCodeAt(at + 1) === 0x75 ? 6 : 2;
      copied = at;
    } else {
      at += 1;
    }
  }
  value = copied === start + 1 ? text.slice(copied, at) : value + text.slice(copied, at);
  if (!isWellFormed(value)) {
    throw filterError(start, 'the value holds half of a surrogate pair, which is no character');
  }
  cursor.at = at + 1;
  return { kind: 'literal', value, text: value, quoted: true, start, end: at + 1 };
}

/** The character of the escape at `at`. */
function escaped(text: string, at: number): string {
  const next = text.charAt(at + 1);
  if (next === '\\' || next === "'" || next === '"') return next;
  const digits = text.slice(at + 2, at + 6);
  if (next === 'u' && hexDigits.test(digits)) return String.fromCharCode(parseInt(digits, 16));
  throw filterError(at, 'expected \\uXXXX, \\\\, \\\' or \\" after a backslash');
}

function unclosed(start: number, quote: number): Error {
  const kind = quote === 0x22 ? 'double' : 'single';
  return filterError(start, `the value that begins here lacks its closing ${kind} quote`);
}

/**
 * Takes a bare value. It runs to the end, to `AND`, `OR`, `EXCEPT` or `order by` standing as words between blanks, to `&` or
 * `|`, or to a parenthesis that closes none of its own. So it may hold blanks, quotes and balanced parentheses; a value with
 * one of those words or signs, with `=`, `<` or `>` (they betray a missing AND), or with a backslash must be quoted. Bare
 * `null` in any case is null, `true` and `false` in lower case are booleans, and what reads as a number is one.
 */
function takeBare(cursor: Cursor): LiteralValue | NullValue {
  return bareValue(cursor, bareEnd(cursor.text, cursor.at));
}

/** Takes a bare member of a list, which runs to a comma or to the closing bracket. */
function takeBareItem(cursor: Cursor): LiteralValue | NullValue {
  return bareValue(cursor, bareItemEnd(cursor.text, cursor.at));
}

function bareValue(cursor: Cursor, end: number): LiteralValue | NullValue {
  const { text, at: start } = cursor;
  cursor.at = end;
  const raw = text.slice(start, end);
  if (end - start === 4 && isWord(raw, 0, 'null')) return { kind: 'null', start, end };
  const value = raw.includes('\\') ? raw.replace(bareEscape, unescapeQuote) : raw;
  return { kind: 'literal', value: meaning(value), text: value, quoted: false, start, end };
}

function unescapeQuote(escape: string): string {
  return escape.endsWith('7') ? "'" : '"';
}

function meaning(text: string): string | number | boolean {
  const first = text.charCodeAt(0);
  if (first <= 0x39) return isNumber(text) ? Number(text) : text;
  if (text === 'true') return true;
  return text === 'false' ? false : text;
}

/** The end of the bare value that begins at `start`, without the blanks behind it. */
function bareEnd(text: string, start: number): number {
  let depth = 0;
  let end = start;
  let at = start;
  let mayEnd = true;
  for (; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isBlank(unit)) {
      mayEnd = true;
      continue;
    }
    if (mayEnd && endsBareValue(text, at, unit)) break;
    mayEnd = false;
    if (unit === 0x26 || unit === 0x7c) break;
    if (unit === 0x28) depth += 1;
    else if (unit === 0x29) {
      if (depth === 0) break;
      depth -= 1;
    } else if (unit >= 0x3c && unit <= 0x3e) throw comparatorInside(text, at);
    else if (unit === 0x5c) at = bareEscapeEnd(text, at) - 1;
    end = at + 1;
  }
  if (end === start) throw noValue(text, at);
  if (depth > 0) throw filterError(start, 'a value with an unclosed parenthesis must be quoted');
  return end;
}

function bareItemEnd(text: string, start: number): number {
  let end = start;
  let at = start;
  for (; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x2c || unit === 0x5d) break;
    if (unit === 0x5b) throw filterError(at, 'a value with a bracket must be quoted in a list');
    if (unit === 0x5c) at = bareEscapeEnd(text, at) - 1;
    if (!isBlank(unit)) end = at + 1;
  }
  if (end === start) throw filterError(at, `expected a value, ${found(text, at)}`);
  return end;
}

/** Whether a connective stands at `at`, as a word between blanks. */
function endsBareValue(text: string, at: number, unit: number): boolean {
  switch (unit | 0x20) {
    case 0x61:
      return isWord(text, at, 'and') && isApart(text, at + 3);
    case 0x6f:
      return (isWord(text, at, 'or') && isApart(text, at + 2)) || isOrderBy(text, at);
    case 0x65:
      return isWord(text, at, 'except') && isApart(text, at + 6);
    default:
      return false;
  }
}

function isApart(text: string, end: number): boolean {
  return end === text.length || isBlank(text.charCodeAt(end)) || text.charCodeAt(end) === 0x28;
}

function bareEscapeEnd(text: string, at: number): number {
  if (text.startsWith('\\u0027', at) || text.startsWith('\\u0022', at)) return at + 6;
  throw filterError(at, 'a value with a backslash must be quoted, and the backslash doubled');
}

function comparatorInside(text: string, at: number): Error {
  const sign = text.charAt(at);
  return filterError(at, `a value with ${sign} must be quoted, or an AND or OR is missing before`);
}

function noValue(text: string, at: number): Error {
  const isWordHere = endsBareValue(text, at, text.charCodeAt(at));
  const hint = isWordHere ? '; a value that is such a word must be quoted' : '';
  return filterError(at, `expected a value, ${found(text, at)}${hint}`);
}
