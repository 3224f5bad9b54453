import { isWellFormed } from './well-formed.js';

/** Levels of arrays and objects in one stored JSON value. */
export const maxJsonDepth = 64;

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
