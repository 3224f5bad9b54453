import { dayFromText, instantFromText } from '../../runtime/protocol/dates.js';
import { normaliseUuid } from '../../runtime/protocol/uuid.js';
import { plainValue } from '../source/plain-value.js';
import type { JsonValue, StorageType } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import { decimalOf, type Digits } from '../model/decimals.js';

/** The parts of an attribute that decide which values it can have. */
export interface ValueType {
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly dimensions: number | undefined;
  readonly digits: Digits | undefined;
}

/**
 * A value as the model stores it: dates and UUIDs as the server stores them. `undefined` if it is
 * not of the type.
 */
export function valueOf(of: ValueType, node: SourceNode): JsonValue | undefined {
  const value = plainValue(node);
  switch (of.type) {
    case 'string':
      return typeof value === 'string' && !/\p{Cs}/u.test(value) ? value : undefined;
    case 'uuid':
      return typeof value === 'string' ? normaliseUuid(value) : undefined;
    case 'number':
      return typeof value === 'number' ? value + 0 : undefined;
    case 'integer':
    case 'duration':
      return Number.isSafeInteger(value) ? (value as number) + 0 : undefined;
    case 'decimal':
      return of.digits === undefined ? undefined : decimalOf(value, of.digits);
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      if (typeof value !== 'string') return undefined;
      return of.dateOnly ? dayOf(value) : instantFromText(value);
    case 'object':
      return typeof value === 'object' && value !== null ? value : undefined;
    case 'vector':
      return isVector(value, of.dimensions) ? value : undefined;
    case 'image':
    case 'blob':
      return undefined;
  }
}

/** What {@link valueOf} accepts, behind "must be". */
export function expectedValue(of: ValueType): string {
  switch (of.type) {
    case 'string':
      return 'a text (in quotes, where it looks like something else)';
    case 'uuid':
      return 'a UUID, 32 hexadecimal digits with or without dashes';
    case 'number':
      return 'a number';
    case 'integer':
      return 'a whole number of at most 53 bits';
    case 'duration':
      return 'a whole number of milliseconds';
    case 'decimal':
      return `a decimal number of at most ${String(of.digits?.precision)} digits, ${String(of.digits?.scale)} of them behind the point, such as ${decimalExample(of.digits)}`;
    case 'boolean':
      return 'true or false';
    case 'date':
      return of.dateOnly ? 'a day such as 2026-03-09' : 'a date such as 2026-03-09T14:25:36Z';
    case 'object':
      return 'a mapping or a list';
    case 'vector':
      return `a list of ${of.dimensions ?? 'some'} numbers`;
    case 'image':
    case 'blob':
      return 'left out';
  }
}

function decimalExample(digits: Digits | undefined): string {
  const scale = digits?.scale ?? 0;
  return scale === 0 ? '12' : `"0.${'5'.padEnd(scale, '0')}"`;
}

function isVector(value: unknown, dimensions: number | undefined): value is number[] {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'number')) return false;
  return dimensions === undefined || value.length === dimensions;
}

/** A day as the server stores it, if the text is a day of the calendar; servers also take other forms of it. */
export function dayOf(text: string): string | undefined {
  return dayFromText(text) === text ? text : undefined;
}
