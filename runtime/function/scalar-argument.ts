import { dayFromText, instantFromText } from '../protocol/dates.js';
import type { StorageType } from '../protocol/definition.js';
import { jsonProblem } from '../protocol/json-problem.js';
import { normaliseUuid } from '../protocol/uuid.js';
import { isWellFormed } from '../protocol/well-formed.js';

/** Types whose arguments are JSON values, and need nothing but themselves to be understood. */
export type ScalarType = Exclude<StorageType, 'image' | 'blob'> | 'dateOnly' | 'any';

/** A value as class code gets it, or what is wrong: the predicate of a sentence that begins with the parameter's name. */
export type ScalarResult =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/**
 * An argument as class code gets it (specification, "Class function calls", rule 4; protocol decision 30). A date becomes a
 * `Date`, a day a text `YYYY-MM-DD`. Types are JSON's own: unlike in an entity, a text with digits is no number.
 * @param json not null
 */
export function scalarArgument(type: ScalarType, json: unknown): ScalarResult {
  switch (type) {
    case 'string':
      if (typeof json !== 'string') return wrong('must be a text');
      return isWellFormed(json) ? right(json) : wrong('holds half of a surrogate pair');
    case 'uuid':
      return fromText(json, normaliseUuid, 'must be a UUID, as a text of 32 hexadecimal digits');
    case 'number':
      return typeof json === 'number' && Number.isFinite(json)
        ? right(json)
        : wrong('must be a number');
    case 'integer':
      return Number.isSafeInteger(json)
        ? right(json)
        : wrong('must be a whole number between -(2^53 - 1) and 2^53 - 1');
    case 'duration':
      return Number.isSafeInteger(json)
        ? right(json)
        : wrong('must be a whole number of milliseconds');
    case 'boolean':
      return typeof json === 'boolean' ? right(json) : wrong('must be true or false');
    case 'date':
      return fromText(json, dateOf, 'must be a date, as a text such as 2026-03-09T14:25:36Z');
    case 'dateOnly':
      return fromText(json, dayFromText, 'must be a date, as a text such as 2026-03-09');
    case 'object':
      return typeof json === 'object' ? exact(json) : wrong('must be a JSON object or array');
    case 'vector':
      return isVector(json) ? right(json) : wrong('must be an array of numbers');
    case 'any':
      return exact(json);
  }
}

function right(value: unknown): ScalarResult {
  return { ok: true, value };
}

function wrong(message: string): ScalarResult {
  return { ok: false, message };
}

function fromText(json: unknown, read: (text: string) => unknown, message: string): ScalarResult {
  const value = typeof json === 'string' ? read(json) : undefined;
  return value === undefined ? wrong(message) : right(value);
}

function dateOf(text: string): Date | undefined {
  const instant = instantFromText(text);
  return instant === undefined ? undefined : new Date(instant);
}

function exact(json: unknown): ScalarResult {
  const problem = jsonProblem(json);
  return problem === undefined ? right(json) : wrong(problem.message);
}

function isVector(json: unknown): boolean {
  return (
    Array.isArray(json) && json.every((each) => typeof each === 'number' && Number.isFinite(each))
  );
}
