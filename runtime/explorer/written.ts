import type { ExplorerAttribute, ValueKind } from './model.js';

/** A text that somebody has typed is no value of its attribute; the message says what would be. */
export class TypedWrong extends Error {}

/** A value as it is typed; empty for null. */
export function typedText({ kind }: Pick<ExplorerAttribute, 'kind'>, value: unknown): string {
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
 * The value of a typed text; null for an empty one.
 * @throws TypedWrong
 */
export function valueOf(attribute: ExplorerAttribute, text: string): unknown {
  const { kind } = attribute;
  if (text === '') return null;
  switch (kind) {
    case 'number':
    case 'duration':
      return numberOf(text);
    case 'boolean':
      return booleanOf(text);
    case 'date':
      return dateOf(text);
    case 'object':
      return objectOf(text);
    case 'text':
    case 'uuid':
    case 'decimal':
    case 'day':
    case 'one':
      return text;
    case 'image':
    case 'blob':
    case 'many':
      throw new TypedWrong('This is not typed.');
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
  const date = new Date(text);
  const [day = ''] = /^\d{4,}-\d\d-\d\d/.exec(text) ?? [];
  // `Date` takes the 31st of February, and the number 3, for other dates.
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
