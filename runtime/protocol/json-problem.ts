import { isWellFormed } from './own-text.js';

/** Levels of arrays and objects in one stored JSON value. */
export const maxJsonDepth = 64;

/** Levels of arrays and objects in what a request sends: values, and the entities and lists that they stand in. */
export const maxRequestDepth = 500;

/** What keeps a parsed JSON value from being stored exactly. */
export interface JsonProblem {
  readonly message: string;
  readonly malformed: boolean;
}

const tooDeep: JsonProblem = {
  message: `must not nest more than ${maxJsonDepth} levels`,
  malformed: false,
};
export const loneSurrogate: JsonProblem = {
  message: 'holds half of a surrogate pair, which is no character',
  malformed: true,
};
export const tooLargeNumber: JsonProblem = {
  message: 'holds a number too large to be kept',
  malformed: true,
};

/** Looks for texts that are not Unicode, for numbers beyond a double, and for nesting beyond {@link maxJsonDepth}. */
export function jsonProblem(value: unknown, depth = 0): JsonProblem | undefined {
  if (typeof value === 'string') return isWellFormed(value) ? undefined : loneSurrogate;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : tooLargeNumber;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === maxJsonDepth) return tooDeep;
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = jsonProblem(item, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const [name, item] of Object.entries(value)) {
    if (!isWellFormed(name)) return loneSurrogate;
    const problem = jsonProblem(item, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Whether a JSON text nests beyond {@link maxRequestDepth}. What reads and writes JSON goes down level by level, and a deep
 * text would exhaust the stack of one of them.
 * @param text that `JSON.parse` takes
 */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > maxRequestDepth) return true;
  }
  return false;
}

/** @returns where the closing quote of a JSON string stands */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Fewer digits always make an integer that a double holds exactly. */
const manyDigits = 16;

/** The strings and the numbers of a JSON text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const integer = /^-?\d{16,}$/;

/**
 * The first integer of a JSON text that reading it as a double would change (protocol P4.6).
 * @param text that `JSON.parse` accepts
 */
export function firstRoundedInteger(text: string): string | undefined {
  if (!hasManyDigits(text)) return undefined;
  for (const [token] of text.matchAll(tokens)) {
    if (!integer.test(token)) continue;
    const value = Number(token);
    // What a client writes for a double that it holds may have other digits than the double, and is read as the same one.
    if (String(value) === token) continue;
    if (!Number.isFinite(value) || BigInt(value) !== BigInt(token)) return token;
  }
  return undefined;
}

/** So many digits in a row take up one of the places that are so far apart: most of the text needs no look. */
function hasManyDigits(text: string): boolean {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigit(text, at)) continue;
    let start = at;
    while (isDigit(text, start - 1)) start -= 1;
    let end = at + 1;
    while (end - start < manyDigits && isDigit(text, end)) end += 1;
    if (end - start >= manyDigits) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}
