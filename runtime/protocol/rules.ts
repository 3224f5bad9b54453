import { compareDecimals } from './decimal.js';
import { fold } from './fold.js';
import { comparisonValue } from './comparison-value.js';
import type { StorageDefinition } from './definition.js';
import type { StorageType } from './storage-type.js';
import type { StoredValue } from './values.js';

/**
 * A pattern is tried on that many UTF-16 units at most: some patterns take time that grows with the
 * square of the text, or faster.
 */
const longestMatched = 2_000;

const noMessages: readonly string[] = Object.freeze([]);

/** Values of these types are texts without rules for texts. */
const notTexts: ReadonlySet<StorageType> = new Set(['decimal', 'object', 'vector']);

/** Whether the model has any rule for the attribute: few have one. */
export function hasRules(definition: StorageDefinition): boolean {
  const { mandatory, enum: values, minLength, maxLength, min, max, pattern } = definition;
  return [mandatory, values, minLength, maxLength, min, max, pattern].some(
    (rule) => rule !== undefined,
  );
}

/**
 * Checks a stored value against the model's rules: mandatory, enum, length, range, pattern. Returns
 * the predicates of sentences that begin with the attribute's name, one for each broken rule:
 * `['must not be null']`.
 *
 * Null breaks `mandatory` only. A text that is too long is not tried on the pattern. Lengths count
 * Unicode characters; a pattern may match anywhere in the text, as in JSON Schema; the bounds of a
 * date are dates.
 */
export function checkRules(definition: StorageDefinition, value: StoredValue): readonly string[] {
  if (value === null) return definition.mandatory === true ? ['must not be null'] : noMessages;
  // No rule is about bytes.
  if (value instanceof Uint8Array) return noMessages;
  const messages: string[] = [];
  if (definition.enum !== undefined && !definition.enum.includes(value)) {
    messages.push(`must be one of ${definition.enum.join(', ')}`);
  }
  if (typeof value === 'string' && !notTexts.has(definition.type)) {
    checkText(definition, value, messages);
  }
  checkRange(definition, value, messages);
  return messages.length === 0 ? noMessages : messages;
}

function checkText(definition: StorageDefinition, value: string, messages: string[]): void {
  const { minLength, maxLength, pattern } = definition;
  if (minLength !== undefined && !hasLength(value, minLength)) {
    messages.push(`must have at least ${count(minLength)}`);
  }
  if (maxLength !== undefined && hasLength(value, maxLength + 1)) {
    messages.push(`must have at most ${count(maxLength)}`);
    return;
  }
  if (pattern === undefined) return;
  if (value.length > longestMatched) {
    messages.push(`must have at most ${count(longestMatched)} to be matched with its pattern`);
    return;
  }
  // Unlike test(), search() ignores the expression's lastIndex.
  if (value.search(pattern) === -1) {
    messages.push(`must match the pattern ${pattern.source}`);
  }
}

function count(characters: number): string {
  return characters === 1 ? '1 character' : `${characters} characters`;
}

/** Whether the text has at least that many characters; a character takes one or two code units. */
function hasLength(value: string, characters: number): boolean {
  if (value.length < characters) return false;
  if (value.length >= characters * 2) return true;
  let counted = 0;
  for (let at = 0; at < value.length && counted < characters; counted += 1) {
    at += (value.codePointAt(at) as number) > 0xffff ? 2 : 1;
  }
  return counted >= characters;
}

function checkRange(
  definition: StorageDefinition,
  value: string | number,
  messages: string[],
): void {
  const { min, max, type } = definition;
  const isBelow = type === 'decimal' ? isLess : isBefore;
  if (min !== undefined && isBelow(value, bound(definition, min))) {
    messages.push(`must not be below ${min}`);
  }
  if (max !== undefined && isBelow(bound(definition, max), value)) {
    messages.push(`must not be above ${max}`);
  }
}

function bound(definition: StorageDefinition, limit: number | string): string | number | undefined {
  const dateOnly = definition.dateOnly === true;
  return comparisonValue(definition.type, dateOnly, { value: limit }, fold) ?? undefined;
}

function isLess(left: string | number | undefined, right: string | number | undefined): boolean {
  return typeof left === 'string' && typeof right === 'string' && compareDecimals(left, right) < 0;
}

/** Values of different kinds are not ordered against each other. */
function isBefore(left: string | number | undefined, right: string | number | undefined): boolean {
  if (typeof left === 'number') return typeof right === 'number' && left < right;
  return typeof left === 'string' && typeof right === 'string' && left < right;
}
