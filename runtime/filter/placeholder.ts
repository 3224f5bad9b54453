import { found, shortened } from '../protocol/found.js';
import { nameCharacterWidth, nameEnd } from '../protocol/names.js';
import { digitsEnd } from '../protocol/numbers.js';
import type { PlaceholderValue } from './ast.js';
import { filterError } from './filter-error.js';
import type { Cursor } from './lexer.js';

const lastPlaceholder = 128;

/** What stands behind the colon of a placeholder. */
export function placeholderText({ key }: PlaceholderValue): string {
  return typeof key === 'number' ? String(key + 1) : key;
}

/** The same for a message: no more than a little of it. */
export function placeholderName(placeholder: PlaceholderValue): string {
  return shortened(placeholderText(placeholder));
}

/** Takes `:1` to `:128`, or `:name.name`. */
export function takePlaceholder(cursor: Cursor): PlaceholderValue {
  const { text, at: start } = cursor;
  const digits = digitsEnd(text, start + 1);
  if (digits === start + 1) return takeNamed(cursor);
  const number = digits - start > 4 ? 0 : Number(text.slice(start + 1, digits));
  if (number < 1 || number > lastPlaceholder || nameCharacterWidth(text, digits) !== 0) {
    throw notPlaceholder(start);
  }
  cursor.at = digits;
  return { kind: 'placeholder', key: number - 1, start, end: digits };
}

function takeNamed(cursor: Cursor): PlaceholderValue {
  const { text, at: start } = cursor;
  let end = nameEnd(text, start + 1);
  if (end === start + 1) throw notPlaceholder(start);
  while (text.charCodeAt(end) === 0x2e) {
    const next = nameEnd(text, end + 1);
    if (next === end + 1) {
      throw filterError(next, `expected a name after the dot, ${found(text, next)}`);
    }
    end = next;
  }
  cursor.at = end;
  return { kind: 'placeholder', key: text.slice(start + 1, end), start, end };
}

function notPlaceholder(start: number): Error {
  return filterError(
    start,
    `a placeholder is a colon and a number from 1 to ${lastPlaceholder}, or a colon and a name`,
  );
}
