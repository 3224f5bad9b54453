import { digitsEnd } from '../protocol/numbers.js';
import { found } from '../protocol/found.js';
import { nameCharacterWidth, nameEnd } from '../protocol/names.js';
import type { AttributePath, Comparator, PathStep, PlaceholderValue } from './ast.js';
import { filterError } from './filter-error.js';

/** A place in a filter's text. What a word means depends on where it stands, so there is no list of tokens. */
export interface Cursor {
  readonly text: string;
  at: number;
}

/** What may follow a comparison. */
export type Connective = 'and' | 'or' | 'except' | 'close' | 'end';

const comparatorsExpected = 'expected a comparator (=, !=, <, <=, >, >=, begin, IS, IS NOT)';
const lastPlaceholder = 128;

/** Space, tab and line ends. Other white space of Unicode is text. */
export function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}

export function skipBlanks(cursor: Cursor): void {
  while (isBlank(cursor.text.charCodeAt(cursor.at))) cursor.at += 1;
}

/** Whether that word, given in lower case, stands at `at` in any case, and no longer one. */
export function isWord(text: string, at: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) {
    if ((text.charCodeAt(at + i) | 0x20) !== word.charCodeAt(i)) return false;
  }
  return nameCharacterWidth(text, at + word.length) === 0;
}

/** Whether `order by` stands at `at`. */
export function isOrderBy(text: string, at: number): boolean {
  if (!isWord(text, at, 'order')) return false;
  let by = at + 'order'.length;
  while (isBlank(text.charCodeAt(by))) by += 1;
  return isWord(text, by, 'by');
}

/**
 * Takes `(` or `NOT (`, if one of them is next. An attribute called `not` is told apart by what follows it: no comparator
 * begins with a parenthesis.
 */
export function takeOpening(cursor: Cursor): 'group' | 'not' | undefined {
  skipBlanks(cursor);
  const { text, at } = cursor;
  if (text.charCodeAt(at) === 0x28) {
    cursor.at = at + 1;
    return 'group';
  }
  if (!isWord(text, at, 'not')) return undefined;
  let open = at + 'not'.length;
  while (isBlank(text.charCodeAt(open))) open += 1;
  if (text.charCodeAt(open) !== 0x28) return undefined;
  cursor.at = open + 1;
  return 'not';
}

/** Takes `name.name`. Any name is a path here, `and`, `begin` and `null` included. */
export function takePath(cursor: Cursor): AttributePath {
  const { text, at: start } = cursor;
  const steps: PathStep[] = [];
  let at = start;
  for (;;) {
    const end = nameEnd(text, at);
    if (end === at) throw notName(text, at, steps.length === 0);
    steps.push({ name: text.slice(at, end), ordinal: 1, element: undefined, start: at, end });
    const unit = text.charCodeAt(end);
    if (unit === 0x5b || unit === 0x7b) {
      const mark = unit === 0x5b ? 'brackets' : 'braces';
      throw filterError(end, `${mark} after a name are not supported yet`, 'notBuilt');
    }
    if (unit !== 0x2e) {
      cursor.at = end;
      return { steps, start, end };
    }
    at = end + 1;
  }
}

function notName(text: string, at: number, isFirst: boolean): Error {
  if (isFirst && text.charCodeAt(at) === 0x3a) {
    return filterError(
      at,
      'a placeholder in place of an attribute is not supported yet',
      'notBuilt',
    );
  }
  const expected = isFirst ? 'an attribute, NOT or an opening parenthesis' : 'a name after the dot';
  return filterError(at, `expected ${expected}, ${found(text, at)}`);
}

/** Takes a comparator and folds its synonyms. */
export function takeComparator(cursor: Cursor, path: AttributePath): Comparator {
  skipBlanks(cursor);
  const { text, at } = cursor;
  const unit = text.charCodeAt(at);
  const isEqualNext = text.charCodeAt(at + 1) === 0x3d;
  switch (unit) {
    case 0x3d:
      // Takes =, == and ===.
      cursor.at = !isEqualNext ? at + 1 : text.charCodeAt(at + 2) === 0x3d ? at + 3 : at + 2;
      return '=';
    case 0x21:
      if (!isEqualNext) break;
      cursor.at = text.charCodeAt(at + 2) === 0x3d ? at + 3 : at + 2;
      return '!=';
    case 0x23:
      cursor.at = at + 1;
      return '!=';
    case 0x3c:
      cursor.at = isEqualNext ? at + 2 : at + 1;
      return isEqualNext ? '<=' : '<';
    case 0x3e:
      cursor.at = isEqualNext ? at + 2 : at + 1;
      return isEqualNext ? '>=' : '>';
    default:
  }
  return takeComparatorWord(cursor, path);
}

function takeComparatorWord(cursor: Cursor, path: AttributePath): Comparator {
  const { text, at } = cursor;
  if (isWord(text, at, 'begin')) {
    cursor.at = at + 'begin'.length;
    return 'begin';
  }
  if (!isWord(text, at, 'is')) throw notComparator(text, at, path);
  cursor.at = at + 'is'.length;
  skipBlanks(cursor);
  if (!isWord(text, cursor.at, 'not')) return '=';
  cursor.at += 'not'.length;
  return '!=';
}

function notComparator(text: string, at: number, path: AttributePath): Error {
  const isName = path.steps.length === 1;
  const unit = text.charCodeAt(at);
  if (unit === 0x28 && isName && isWord(text, path.start, 'eval')) {
    return filterError(path.start, 'formulas are not allowed', 'formulaNotAllowed');
  }
  for (const comparator of ['in', 'contains']) {
    if (isWord(text, at, comparator)) {
      return filterError(at, `the comparator ${comparator} is not supported yet`, 'notBuilt');
    }
  }
  if (unit === 0x25) return filterError(at, 'the comparator % is not supported yet', 'notBuilt');
  if (isName && isWord(text, path.start, 'not')) {
    return filterError(at, 'expected an opening parenthesis after NOT, ' + found(text, at));
  }
  return filterError(at, `${comparatorsExpected}, ${found(text, at)}`);
}

/** Takes what follows a comparison or a closing parenthesis. */
export function takeConnective(cursor: Cursor): Connective {
  skipBlanks(cursor);
  const { text, at } = cursor;
  if (at === text.length) return 'end';
  switch (text.charCodeAt(at)) {
    case 0x29:
      cursor.at = at + 1;
      return 'close';
    case 0x26:
      cursor.at = text.charCodeAt(at + 1) === 0x26 ? at + 2 : at + 1;
      return 'and';
    case 0x7c:
      cursor.at = text.charCodeAt(at + 1) === 0x7c ? at + 2 : at + 1;
      return 'or';
    default:
  }
  for (const word of ['and', 'or', 'except'] as const) {
    if (isWord(text, at, word)) {
      cursor.at = at + word.length;
      return word;
    }
  }
  throw notConnective(text, at);
}

function notConnective(text: string, at: number): Error {
  if (isOrderBy(text, at)) {
    const problem = 'order by in a filter is not supported yet; $orderby is';
    return filterError(at, problem, 'notBuilt');
  }
  const unit = text.charCodeAt(at);
  const hint =
    unit === 0x22 || unit === 0x27
      ? '; a quote inside a quoted value is written \\u0027 or \\u0022'
      : '';
  return filterError(at, `expected AND, OR, EXCEPT or the end, ${found(text, at)}${hint}`);
}

/** Takes `:1` to `:128`. */
export function takePlaceholder(cursor: Cursor): PlaceholderValue {
  const { text, at: start } = cursor;
  const end = digitsEnd(text, start + 1);
  const number = end - start > 4 ? 0 : Number(text.slice(start + 1, end));
  if (number < 1 || number > lastPlaceholder || nameCharacterWidth(text, end) !== 0) {
    throw filterError(start, `a placeholder is a colon and a number from 1 to ${lastPlaceholder}`);
  }
  cursor.at = end;
  return { kind: 'placeholder', key: number - 1, start, end };
}
