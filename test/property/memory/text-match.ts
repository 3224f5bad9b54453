import type { Fold } from './comparison.js';

/** How texts are compared in a model: its fold, and whether `@` is a wildcard. */
export interface TextRules {
  readonly fold: Fold;
  readonly wildcard: boolean;
}

/**
 * Equality of texts, with the wildcards of filters F31: `@` anywhere, and `*` as the last
 * character.
 */
export function isLike(held: string, wanted: string, { fold, wildcard }: TextRules): boolean {
  if (!wildcard) return fold(held) === fold(wanted);
  const isOpen = wanted.endsWith('*');
  const pieces = (isOpen ? wanted.slice(0, -1) : wanted).split('@').map(fold);
  if (isOpen) pieces.push('');
  return isChain(fold(held), pieces);
}

/**
 * Whether the text contains the pieces one after the other, the first at its start and the last at
 * its end.
 */
function isChain(text: string, pieces: readonly string[]): boolean {
  const [first = '', ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const next = text.indexOf(piece, at);
    if (next === -1) return false;
    at = next + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

export function begins(held: string, wanted: string, { fold }: TextRules): boolean {
  return fold(held).startsWith(fold(wanted));
}

export function contains(held: string, wanted: string, { fold }: TextRules): boolean {
  return fold(held).includes(fold(wanted));
}

const wordCharacter = /^[\p{L}\p{N}\p{M}_]$/u;

/**
 * `%`: the text contains the value with no letter, mark, digit or underscore directly beside it. An
 * empty value is no word.
 */
export function hasWord(held: string, wanted: string, { fold }: TextRules): boolean {
  const text = Array.from(fold(held));
  const word = Array.from(fold(wanted));
  if (word.length === 0) return false;
  return text.some((_, at) => {
    if (word.some((each, index) => text[at + index] !== each)) return false;
    return [text[at - 1], text[at + word.length]].every((each) => !wordCharacter.test(each ?? ''));
  });
}
