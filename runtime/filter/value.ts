import { found } from '../protocol/found.js';
import type { Comparator, FilterValue, ListValue, SingleValue } from './ast.js';
import { filterError } from './filter-error.js';
import { type Cursor, skipBlanks } from './lexer.js';
import { takeBare, takeBareItem, takeQuoted } from './literal.js';
import { takePlaceholder } from './placeholder.js';

/**
 * Takes the value of a comparison (protocol 7.2 and 7.5): a placeholder, a quoted text, or a bare value; behind `IN` a list
 * of those, or a placeholder for one.
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
