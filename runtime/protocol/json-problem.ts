import { randomUUID } from 'node:crypto';
import { compareDecimals } from './decimal.js';
import { isNumber, RoundedNumber } from './numbers.js';
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
const tinyNumber: JsonProblem = {
  message: 'holds a number too near to 0 to be kept',
  malformed: true,
};

/** Looks for texts that are not Unicode, for numbers that a double does not hold, and for nesting beyond {@link maxJsonDepth}. */
export function jsonProblem(value: unknown, depth = 0): JsonProblem | undefined {
  if (typeof value === 'string') return isWellFormed(value) ? undefined : loneSurrogate;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : tooLargeNumber;
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof RoundedNumber) return value.isTiny ? tinyNumber : undefined;
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
  if (opensFew(text)) return false;
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

/** Searching for brackets costs much less than looking at each character; few bodies have many. */
function opensFew(text: string): boolean {
  let count = 0;
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > maxRequestDepth) return false;
    }
  }
  return true;
}

/** @returns the position of the closing quote of a JSON string */
export function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** The strings and the numbers of a JSON text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const integer = /^-?\d+$/;

/** Numbers of fewer digits, and of fewer digits in the exponent, are exact in a double. */
const longNumbers = {
  /** Leaves out numbers with a fraction in lists: vectors are full of them. */
  members: /(?:^|[[,:\s])(-?\d{16}[\d.eE+-]*)|:\s*(-?\d[\d.]{16}[\d.eE+-]*)|\d[eE]-\d{3,}[\s,\]}]/g,
  all: /(?:^|[[,:\s])(-?\d(?:\d{15}|[\d.]{16})[\d.eE+-]*)|\d[eE]-\d{3,}[\s,\]}]/g,
} as const;

/**
 * Whether a JSON text may hold a number that `JSON.parse` has rounded to another one. Digits inside of
 * strings count, too: finding where strings end would cost more than all else.
 */
function mayBeRounded(text: string, places: keyof typeof longNumbers): boolean {
  for (const [, first, second] of text.matchAll(longNumbers[places])) {
    const token = first ?? second;
    if (token === undefined) return true;
    // A string may hold digits that are no number.
    if (isNumber(token) && isRounded(token)) return true;
  }
  return false;
}

/** Stands for a rounded number while a text is parsed; no client knows it. */
const mark = randomUUID();

/**
 * A parsed JSON text with a {@link RoundedNumber} in place of each number that `JSON.parse` has
 * rounded to another one.
 * @param value what `JSON.parse` returns for the text, which must not be too deep
 * @param places which numbers to look at; lists of numbers with fractions cost time
 * @param refuseInteger throws an error about an integer that would be rounded; without it, the integer
 * is such a number
 */
export function withRounded(
  text: string,
  value: unknown,
  places: keyof typeof longNumbers,
  refuseInteger?: (token: string) => never,
): unknown {
  if (typeof value !== 'object' || !mayBeRounded(text, places)) return value;
  const marked = text.replace(tokens, (token) => {
    if (token.startsWith('"') || !isRounded(token)) return token;
    if (integer.test(token)) refuseInteger?.(token);
    return `{"${mark}":"${token}"}`;
  });
  if (marked === text) return value;
  return JSON.parse(marked, (_name, each: unknown) => {
    const sent = isMarked(each) ? each[mark] : undefined;
    return sent === undefined ? each : new RoundedNumber(sent);
  });
}

function isMarked(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, mark);
}

/**
 * Whether a double cannot hold a number. Numbers beyond 10^60 or 10^-60 count as held, unless the
 * double is 0: only doubles are that large or small.
 * @param token a number of a JSON text
 */
function isRounded(token: string): boolean {
  const value = Number(token);
  const written = String(value);
  if (written === token || !Number.isFinite(value)) return false;
  // A client may write a double with other digits than JavaScript does, and the double is the same.
  return integer.test(token)
    ? BigInt(value) !== BigInt(token)
    : compareDecimals(token, written) !== 0;
}

/**
 * JSON for class code: with its double in place of each rounded number, unless the double is 0.
 * @param json may be changed
 */
export function withDoubles(json: unknown): unknown {
  if (json instanceof RoundedNumber) return json.isTiny ? json : json.value;
  if (typeof json !== 'object' || json === null) return json;
  const members = json as Record<string, unknown>;
  for (const [name, member] of Object.entries(members)) {
    const replaced = withDoubles(member);
    if (replaced !== member) members[name] = replaced;
  }
  return json;
}
