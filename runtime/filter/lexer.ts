import { nameCharacterWidth, found } from '../protocol/names.js';
import { type ErrorName, type RequestError, refuse } from '../protocol/errors.js';

/** The meaning of a word depends on its position, so there is no list of tokens. */
export interface Cursor {
  readonly text: string;
  at: number;
}

/** The words that may follow a comparison. */
type Connective = 'and' | 'or' | 'except' | 'close' | 'order by' | 'end';

/** Space, tab and line ends. Other white space of Unicode is text. */
export function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}

export function skipBlanks(cursor: Cursor): void {
  cursor.at = blanksEnd(cursor.text, cursor.at);
}

/** Offset of the first character from `start` that is no blank. */
export function blanksEnd(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** Whether that whole word, given in lower case, is at `at`. */
export function isWord(text: string, at: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) {
    if ((text.charCodeAt(at + i) | 0x20) !== word.charCodeAt(i)) return false;
  }
  return nameCharacterWidth(text, at + word.length) === 0;
}

/** Whether `order by` is at `at`. */
export function isOrderBy(text: string, at: number): boolean {
  return isWord(text, at, 'order') && isWord(text, blanksEnd(text, at + 'order'.length), 'by');
}

const openings = /\(|not[ \t-\r]*\(/iy;

/** Takes `(` or `NOT (`. The parenthesis distinguishes an attribute called `not`. */
export function takeOpening(cursor: Cursor): 'group' | 'not' | undefined {
  skipBlanks(cursor);
  openings.lastIndex = cursor.at;
  const opening = openings.exec(cursor.text)?.[0];
  if (opening === undefined) return undefined;
  cursor.at += opening.length;
  return opening === '(' ? 'group' : 'not';
}

const signs = /\)|&&?|\|\|?/y;

/** Takes what follows a comparison or a closing parenthesis. */
export function takeConnective(cursor: Cursor): Connective {
  skipBlanks(cursor);
  const { text, at } = cursor;
  if (at === text.length) return 'end';
  signs.lastIndex = at;
  const sign = signs.exec(text)?.[0];
  if (sign !== undefined) {
    cursor.at = at + sign.length;
    if (sign === ')') return 'close';
    return sign.startsWith('&') ? 'and' : 'or';
  }
  for (const word of ['and', 'or', 'except'] as const) {
    if (isWord(text, at, word)) {
      cursor.at = at + word.length;
      return word;
    }
  }
  if (!isOrderBy(text, at)) throw notConnective(text, at);
  cursor.at = blanksEnd(text, at + 'order'.length) + 'by'.length;
  return 'order by';
}

function notConnective(text: string, at: number): Error {
  const unit = text.charCodeAt(at);
  const hint =
    unit === 0x22 || unit === 0x27
      ? '; a quote inside a quoted value is written \\u0027 or \\u0022'
      : '';
  return filterError(at, `expected AND, OR, EXCEPT or the end, ${found(text, at)}${hint}`);
}

/**
 * Refuses a filter: says where, and what is wrong or was expected (filters F12). Characters are
 * counted from 1, in UTF-16 code units of the filter without the quotes around it.
 *
 * @example throw filterError(0, 'expected an attribute, found the end');
 */
export function filterError(
  offset: number,
  problem: string,
  name: ErrorName = 'invalidQuery',
): RequestError {
  return refuse(name, `Character ${offset + 1} of $filter: ${problem}.`);
}
