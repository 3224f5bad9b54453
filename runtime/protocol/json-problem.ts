import { isWellFormed } from './well-formed.js';

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
