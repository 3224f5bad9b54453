import { isWellFormed } from './own-text.js';

/** Levels of arrays and objects in one stored JSON value. */
const maxJsonDepth = 64;

/**
 * Levels of arrays and objects in the body of a request: of values, and of the entities and lists
 * around them.
 */
export const maxRequestDepth = 500;

/** Why a parsed JSON value cannot be stored exactly. */
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
const tooLargeNumber: JsonProblem = {
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
 * Whether a JSON text nests beyond {@link maxRequestDepth}. Readers and writers of JSON are
 * recursive, and a deep text would exhaust the stack of one of them.
 * @param text that `JSON.parse` accepts
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

/** @returns the position of the closing quote of a JSON string */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Integers with fewer digits are always exact in a double. */
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
    // A client may write a double with other digits than JavaScript does, and the double is the
    // same.
    if (String(value) === token) continue;
    if (!Number.isFinite(value) || BigInt(value) !== BigInt(token)) return token;
  }
  return undefined;
}

/**
 * That many digits in a row cover one of the positions checked here, so most of the text is
 * skipped.
 */
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
