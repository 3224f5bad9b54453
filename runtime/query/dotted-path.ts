import { nameEnd } from '../protocol/names.js';

/** Names joined by dots, as far as they go. */
export interface DottedPath {
  /** Empty when no name stands there. */
  readonly path: readonly string[];
  /** Offset of the first character that belongs to no name; a dot without a name after it is one. */
  readonly end: number;
}

/** Reads `name.name.name` from `start`. */
export function dottedPath(text: string, start: number): DottedPath {
  const path: string[] = [];
  let end = start;
  let at = start;
  for (;;) {
    const next = nameEnd(text, at);
    if (next === at) return { path, end };
    path.push(text.slice(at, next));
    end = next;
    if (text.charCodeAt(end) !== 0x2e) return { path, end };
    at = end + 1;
  }
}

/** Offset of the first character from `start` that is no space, tab or line end. */
export function skipSpaces(text: string, start: number): number {
  let at = start;
  for (let unit = text.charCodeAt(at); isSpace(unit); unit = text.charCodeAt(at)) at += 1;
  return at;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
