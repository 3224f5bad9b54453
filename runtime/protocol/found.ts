import { nameCharacterWidth, nameEnd } from './names.js';

const longestQuotation = 24;

/** `found "foo"`, the name or the character at `offset`, or `found the end`: the last part of a message. */
export function found(text: string, offset: number): string {
  const point = text.codePointAt(offset);
  if (point === undefined) return 'found the end';
  const end =
    nameCharacterWidth(text, offset) === 0
      ? offset + String.fromCodePoint(point).length
      : nameEnd(text, offset);
  return `found ${JSON.stringify(shortened(text.slice(offset, end)))}`;
}

/** At most that many code units of a text that a client sent, in whole characters. */
export function shortened(text: string): string {
  if (text.length <= longestQuotation) return text;
  return `${Array.from(text.slice(0, longestQuotation + 1))
    .slice(0, -1)
    .join('')}...`;
}
