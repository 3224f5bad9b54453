import { nameCharacterWidth, nameEnd } from '../protocol/names.js';
import { type ErrorName, type RequestError, refuse } from '../protocol/errors.js';

const longestQuotation = 24;

/**
 * Refuses a filter (protocol decision 12): where, what is wrong, and with `expected ...` what stands there instead.
 * Characters are counted from 1, in UTF-16 code units of the filter without the quotes around it.
 */
export function filterError(
  offset: number,
  problem: string,
  name: ErrorName = 'invalidQuery',
): RequestError {
  return refuse(name, `Character ${offset + 1} of $filter: ${problem}.`);
}

/** `found "foo"`: the name or the character at `offset`, for the end of a message. */
export function found(text: string, offset: number): string {
  const point = text.codePointAt(offset);
  if (point === undefined) return 'found the end';
  const end =
    nameCharacterWidth(text, offset) === 0
      ? offset + String.fromCodePoint(point).length
      : nameEnd(text, offset);
  const word = text.slice(offset, end);
  const shown = end - offset > longestQuotation ? `${clip(word)}...` : word;
  return `found ${JSON.stringify(shown)}`;
}

/** Whole characters only. */
function clip(word: string): string {
  return Array.from(word.slice(0, longestQuotation + 1))
    .slice(0, -1)
    .join('');
}
