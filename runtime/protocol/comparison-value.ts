import { dayFromText, instantFromText } from './dates.js';
import { comparedDecimal } from './decimal.js';
import type { StorageType } from './storage-type.js';
import type { Fold } from './fold.js';
import { isTiny, numberFromText } from './numbers.js';
import { normaliseUuid } from './uuid.js';
import { isWellFormed } from './own-text.js';

/** A value that a client compares an attribute with: a literal of a filter, or an item of `$params`. */
export interface ComparisonInput {
  /** The value of a literal, or a JSON value of `$params`. */
  readonly value: unknown;
  /** The text of a literal, so that `zip = 01234` compares with the text `01234`. */
  readonly text?: string;
}

/**
 * The value to bind for a comparison with an attribute of that type: text folded, dates as they are
 * stored, booleans as 0 and 1. A value of another type is converted if that loses nothing (filters
 * F34); `undefined` means that it cannot be read as a value of the type. Null stays null.
 *
 * Integers are compared with any number: `ID > 1.5` is well defined, and what a double cannot hold
 * is beyond every stored integer, or between 0 and every other number. A decimal keeps all its digits, whatever the scale of the attribute;
 * what compares it rounds it. An object, image, BLOB or vector is comparable with nothing.
 */
export function comparisonValue(
  type: StorageType,
  dateOnly: boolean,
  input: ComparisonInput,
  fold: Fold,
): string | number | null | undefined {
  const { value } = input;
  if (value === null) return null;
  switch (type) {
    case 'string': {
      const text = textOf(input);
      return text === undefined || !isWellFormed(text) ? undefined : fold(text);
    }
    case 'uuid': {
      const text = textOf(input);
      return text === undefined ? undefined : normaliseUuid(text);
    }
    case 'number':
    case 'integer':
    case 'duration':
      return numberOf(input);
    case 'decimal':
      return comparedDecimal(input.text ?? value);
    case 'boolean':
      return booleanOf(value);
    case 'date':
      if (typeof value !== 'string') return undefined;
      return dateOnly ? dayFromText(value) : instantFromText(value);
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      return undefined;
  }
}

function textOf({ text, value }: ComparisonInput): string | undefined {
  if (text !== undefined) return text;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function numberOf({ text, value }: ComparisonInput): number | undefined {
  const written = text ?? value;
  const number = typeof value === 'string' ? numberFromText(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) return undefined;
  if (number !== 0 || typeof written !== 'string' || !isTiny(written)) return number + 0;
  return written.startsWith('-') ? -Number.MIN_VALUE : Number.MIN_VALUE;
}

function booleanOf(value: unknown): number | undefined {
  if (value === true || value === 1) return 1;
  if (value === false || value === 0) return 0;
  if (typeof value !== 'string') return undefined;
  const text = value.toLowerCase();
  if (text === 'true') return 1;
  return text === 'false' ? 0 : undefined;
}
