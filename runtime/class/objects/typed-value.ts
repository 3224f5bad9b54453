import type { SqlValue } from '../../dialect/statement.js';
import { memberName, type StorageDefinition } from '../../protocol/definition.js';
import { type StoredValue, storedValue } from '../../protocol/values.js';
import type { AnswerOptions } from '../../query/context.js';
import { AttributeError } from './failure.js';
import type { Field } from './entity-rows.js';

/**
 * A value as class code reads it: a `Date` for a date, `YYYY-MM-DD` for a date without time, a
 * boolean, a frozen object or vector; anything else as it is stored, a decimal as a text. An expression's value of
 * another type than its own is null (protocol P4.15).
 */
export function typedStored(
  end: Pick<Field['end'], 'type' | 'dateOnly'>,
  stored: SqlValue,
): unknown {
  if (stored === null) return null;
  switch (end.type) {
    case 'string':
    case 'uuid':
    case 'decimal':
      return typeof stored === 'string' ? stored : String(stored);
    case 'number':
    case 'integer':
    case 'duration':
      return typeof stored === 'number' && Number.isFinite(stored) ? stored : null;
    case 'boolean':
      return stored === 1 ? true : stored === 0 ? false : null;
    case 'date':
      return end.dateOnly === true ? String(stored) : dateOf(stored);
    case 'object':
    case 'vector':
      return parsedJson(stored);
    case 'image':
    case 'blob':
      throw new Error('The bytes of an entity are read by their handle.');
  }
}

/** A stored value as answers show it (protocol P4.4 to P4.14). */
export function shownValue(
  end: Pick<Field['end'], 'type' | 'dateOnly'>,
  stored: SqlValue,
  { dateOnlyFormat }: Pick<AnswerOptions, 'dateOnlyFormat'>,
): unknown {
  const value = typedStored(end, stored);
  if (value instanceof Date) return stored;
  if (end.dateOnly !== true || dateOnlyFormat === 'iso' || typeof value !== 'string') return value;
  const [year, month, day] = value.split('-');
  return `${Number(day)}!${Number(month)}!${year}`;
}

/**
 * The stored form of a value that class code sets.
 * @throws AttributeError for a value of another type
 */
export function storedForm(
  dataclass: string,
  definition: StorageDefinition,
  value: unknown,
): StoredValue {
  const result = storedValue(definition, jsonForm(definition, value));
  if (result.ok) return result.value;
  throw new AttributeError(dataclass, memberName(definition), result.message);
}

/** Whether two stored values are the same; those of JSON are, however they are written. */
export function isSameStored({ type }: StorageDefinition, a: SqlValue, b: StoredValue): boolean {
  if (a === b) return true;
  if (type !== 'object' && type !== 'vector') return false;
  // What this server stored is written as `b` is; other programs may have stored it with blanks, or deeper than JSON is written.
  try {
    return typeof a === 'string' && JSON.stringify(JSON.parse(a)) === b;
  } catch {
    return false;
  }
}

function jsonForm({ type, dateOnly }: StorageDefinition, value: unknown): unknown {
  if (value instanceof Date && type === 'date' && dateOnly !== true) {
    return Number.isNaN(value.getTime()) ? value : value.toISOString();
  }
  return value;
}

function dateOf(stored: SqlValue): Date | null {
  const date = new Date(String(stored));
  return Number.isNaN(date.getTime()) ? null : date;
}

function parsedJson(stored: SqlValue): unknown {
  if (typeof stored !== 'string') return typeof stored === 'number' ? stored : null;
  try {
    return deepFrozen(JSON.parse(stored));
  } catch {
    // An expression may yield a text that is none.
    return null;
  }
}

function deepFrozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const open: object[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    Object.freeze(next);
    for (const member of Object.values(next) as unknown[]) {
      if (typeof member === 'object' && member !== null) open.push(member);
    }
  }
  return value;
}
