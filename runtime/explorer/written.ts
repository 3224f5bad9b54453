import type { ExplorerAttribute, ValueKind } from './model.js';
import type { Key } from './server.js';

/** A text that somebody has typed is no value of its attribute; the message says what would be. */
export class TypedWrong extends Error {}

/**
 * What somebody has typed or chosen for an attribute: a text; for a relation a key, null for none,
 * and `undefined` while no entity is chosen; for an image or a BLOB a file, null to remove it, and
 * `undefined` to leave it as it is.
 */
export type Typed = string | Key | File | null | undefined;

/** A value as it is typed; empty for null. */
export function typedOf({ kind }: Pick<ExplorerAttribute, 'kind'>, value: unknown): Typed {
  if (kind === 'one') return value === undefined ? null : (value as Key | null);
  if (kind === 'image' || kind === 'blob') return undefined;
  if (value === null || value === undefined) return '';
  if (kind === 'date' && value instanceof Date) return localTime(value);
  if (kind === 'object') return JSON.stringify(value, null, 2);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The parts of a time as an input of the type `datetime-local` has them. */
function localTime(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, -1);
}

/**
 * The value of what is typed; null for an empty text.
 * @throws TypedWrong
 */
export function valueOf({ kind }: ExplorerAttribute, typed: Typed): unknown {
  if (kind === 'one' && typed === undefined) {
    throw new TypedWrong('Choose one of the entities that are proposed, or none.');
  }
  if (typeof typed !== 'string') return typed;
  if (typed === '') return null;
  switch (kind) {
    case 'number':
    case 'duration':
      return numberOf(typed);
    case 'boolean':
      return booleanOf(typed);
    case 'date':
      return dateOf(typed);
    case 'object':
      return objectOf(typed);
    case 'text':
    case 'uuid':
    case 'decimal':
    case 'day':
    case 'one':
    case 'image':
    case 'blob':
    case 'many':
      return typed;
  }
}

function numberOf(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number)) return number;
  throw new TypedWrong('A number is expected, such as 1234.5.');
}

function booleanOf(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === 'false') return word === 'true';
  throw new TypedWrong('true or false is expected.');
}

/** A time without a zone is one of this place. */
function dateOf(text: string): Date {
  const [day = ''] = /^\d{4,}-\d\d-\d\d/.exec(text) ?? [];
  // `Date` reads a day without a time in UTC.
  const date = new Date(text === day ? `${day}T00:00` : text);
  // `Date` reads the 31st of February, and the number 3, as other dates.
  const isDay = day !== '' && new Date(`${day}T00:00:00Z`).getUTCDate() === Number(day.slice(-2));
  if (isDay && !Number.isNaN(date.getTime())) return date;
  throw new TypedWrong('A date and a time are expected, such as 2024-02-29T09:30.');
}

function objectOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new TypedWrong('JSON is expected, such as {"size": 3}.');
  }
}

const inputTypes: Readonly<Partial<Record<ValueKind, string>>> = {
  date: 'datetime-local',
  day: 'date',
};

/** The `type` of the input for an attribute. */
export function inputType({ kind }: ExplorerAttribute): string {
  return inputTypes[kind] ?? 'text';
}
