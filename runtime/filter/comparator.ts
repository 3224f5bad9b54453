import { found } from '../protocol/found.js';
import type { AttributePath, Comparator } from './ast.js';
import { filterError } from './filter-error.js';
import { blanksEnd, type Cursor, isWord, skipBlanks } from './lexer.js';

const comparatorsExpected =
  'expected a comparator (=, !=, <, <=, >, >=, begin, contains, %, IN, IS, IS NOT)';

const words = ['begin', 'contains', 'in'] as const;

/** Takes the comparator behind `path` and folds its synonyms. */
export function takeComparator(cursor: Cursor, path: AttributePath): Comparator {
  skipBlanks(cursor);
  const { text, at } = cursor;
  const isEqualNext = text.charCodeAt(at + 1) === 0x3d;
  switch (text.charCodeAt(at)) {
    case 0x3d:
      return takeEquality(cursor, '=', '===');
    case 0x21:
      if (isEqualNext) return takeEquality(cursor, '!=', '!==');
      break;
    case 0x23:
      cursor.at = at + 1;
      return '!=';
    case 0x25:
      cursor.at = at + 1;
      return '%';
    case 0x3c:
      if (text.charCodeAt(at + 1) === 0x3e) {
        throw filterError(at, `expected a comparator; what <> means elsewhere is != here`);
      }
      cursor.at = isEqualNext ? at + 2 : at + 1;
      return isEqualNext ? '<=' : '<';
    case 0x3e:
      cursor.at = isEqualNext ? at + 2 : at + 1;
      return isEqualNext ? '>=' : '>';
    default:
  }
  return takeComparatorWord(cursor, path);
}

/** Takes `=` and `==`, or `!=`, and the form that is longer by one. */
function takeEquality(cursor: Cursor, short: '=' | '!=', long: '===' | '!=='): Comparator {
  const { text, at } = cursor;
  if (text.startsWith(long, at)) {
    cursor.at = at + 3;
    return long;
  }
  cursor.at = text.charCodeAt(at + 1) === 0x3d ? at + 2 : at + 1;
  return short;
}

function takeComparatorWord(cursor: Cursor, path: AttributePath): Comparator {
  const { text, at } = cursor;
  for (const word of words) {
    if (isWord(text, at, word)) {
      cursor.at = at + word.length;
      return word;
    }
  }
  if (!isWord(text, at, 'is')) throw notComparator(text, at, path);
  cursor.at = blanksEnd(text, at + 'is'.length);
  const isNegated = isWord(text, cursor.at, 'not');
  if (isNegated) cursor.at = blanksEnd(text, cursor.at + 'not'.length);
  const list = isWord(text, cursor.at, 'in') ? blanksEnd(text, cursor.at + 'in'.length) : -1;
  if (text.charCodeAt(list) === 0x5b) {
    throw filterError(
      at,
      isNegated ? negatedHint('IS NOT IN', 'IN') : 'expected IN alone, without IS',
    );
  }
  return isNegated ? '!==' : '===';
}

function notComparator(text: string, at: number, path: AttributePath): Error {
  const name = text.slice(path.start, path.end).toLowerCase();
  const isCall = text.charCodeAt(at) === 0x28;
  if (isCall && name === 'eval') {
    return filterError(path.start, 'formulas are not allowed', 'formulaNotAllowed');
  }
  if (name === 'order' && isWord(text, at, 'by')) {
    const problem = 'expected a comparison before order by; $orderby orders without a filter';
    return filterError(path.start, problem);
  }
  if (isWord(text, at, 'not')) {
    const next = blanksEnd(text, at + 'not'.length);
    const word = words.find((each) => isWord(text, next, each));
    if (word !== undefined) {
      const shown = word === 'in' ? 'IN' : word;
      return filterError(at, negatedHint(`NOT ${shown}`, shown));
    }
  }
  if (name === 'not') {
    return filterError(at, 'expected an opening parenthesis after NOT, ' + found(text, at));
  }
  return filterError(at, `${comparatorsExpected}, ${found(text, at)}`);
}

function negatedHint(wrong: string, comparator: string): string {
  const value = comparator === 'IN' ? '[...]' : '...';
  return `there is no comparator ${wrong}; write NOT (attribute ${comparator} ${value})`;
}
