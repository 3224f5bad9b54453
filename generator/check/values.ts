import { plainValue } from '../source/plain-value.js';
import { dayOf, momentOf } from './dates.js';
import type { JsonValue, StorageType } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';

/** The parts of an attribute that decide which values it can have. */
export interface ValueType {
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly dimensions: number | undefined;
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
      return typeof value === 'string' ? uuidOf(value) : undefined;
    case 'number':
      return typeof value === 'number' ? value + 0 : undefined;
    case 'integer':
    case 'duration':
      return Number.isSafeInteger(value) ? (value as number) + 0 : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      if (typeof value !== 'string') return undefined;
      return of.dateOnly ? dayOf(value) : momentOf(value);
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

function uuidOf(text: string): string | undefined {
  const form = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
  return form.test(text) ? text.replaceAll('-', '').toUpperCase() : undefined;
}

function isVector(value: unknown, dimensions: number | undefined): value is number[] {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'number')) return false;
  return dimensions === undefined || value.length === dimensions;
}
