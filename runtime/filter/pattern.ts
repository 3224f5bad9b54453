/** A folded text with wildcards, taken apart for the database (protocol decision 12). */
export interface PatternParts {
  /** What a text must begin with. */
  readonly prefix: string;
  /** The whole pattern, `@` for any run of characters; none where the prefix says it all. */
  readonly pattern: string | null;
  /** The longest piece behind the prefix. */
  readonly piece: string;
}

/** `*` at the end of what a client wrote is a wildcard as well. */
export function withoutStar(text: string): string {
  return text.endsWith('*') ? `${text.slice(0, -1)}@` : text;
}

/** @param pattern folded, `@` for any run of characters */
export function patternParts(pattern: string): PatternParts {
  const [prefix, ...others] = pattern.split('@');
  const isPrefix = others.length > 0 && others.every((each) => each === '');
  let piece = '';
  for (const other of others) if (other.length > piece.length) piece = other;
  return { prefix: prefix as string, pattern: isPrefix ? null : pattern, piece };
}

/** The least text, by code point, that is greater than every text with this prefix; `undefined` where there is none. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    // Surrogates are no characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next);
  }
  return undefined;
}
