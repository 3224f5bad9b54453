import { eastAsianWidth } from 'get-east-asian-width';

/** One character as a reader sees it. */
export interface Cell {
  /** Offset in the text. */
  readonly start: number;
  readonly text: string;
  /** Columns that it takes on a terminal. */
  readonly width: number;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Characters that move the cursor, change colours or turn the direction of writing. */
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Makes a text of a model safe to print: escapes what would control the terminal. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? character : spellOut(character),
  );
}

/** JSON that is safe to print: what would control the terminal is an escape sequence of JSON. */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(unprintable, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Splits one line into cells; a tab becomes two blanks. */
export function cellsOf(line: string): readonly Cell[] {
  return [...graphemes.segment(line)].map(({ segment, index }) => {
    const text = segment === '\t' ? '  ' : printable(segment);
    return { start: index, text, width: text === segment ? widthOf(text) : text.length };
  });
}

export function displayWidth(text: string): number {
  return cellsOf(text).reduce((sum, cell) => sum + cell.width, 0);
}

function widthOf(grapheme: string): number {
  if (grapheme.includes('\ufe0f')) return 2;
  const codePoint = grapheme.codePointAt(0) ?? 0;
  if (/^\p{Mark}|^\p{Cf}/u.test(grapheme)) return 0;
  return eastAsianWidth(codePoint);
}

function spellOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
