import type { ExplorerAttribute, ValueKind } from './model.js';

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Whether values of a kind stand at the right of their column, so that digits stand below digits. */
export function isRightAligned(kind: ValueKind): boolean {
  return (
    kind === 'number' ||
    kind === 'decimal' ||
    kind === 'date' ||
    kind === 'day' ||
    kind === 'duration'
  );
}

/** The class of a cell with values of an attribute. */
export function cellClass({ kind }: Pick<ExplorerAttribute, 'kind'>): string {
  return isRightAligned(kind) ? `cell right ${kind}` : `cell ${kind}`;
}

/** A value as the reader's locale writes it; empty for null. */
export function shownValue({ kind }: Pick<ExplorerAttribute, 'kind'>, value: unknown): string {
  if (value === null || value === undefined) return '';
  switch (kind) {
    case 'number':
      return typeof value === 'number' ? numbers.format(value) : plain(value);
    case 'decimal':
      // As a number it might lose digits.
      return numbers.format(plain(value) as Intl.StringNumericLiteral);
    case 'date':
      return value instanceof Date ? dates.format(value) : plain(value);
    case 'day':
      return shownDay(plain(value));
    case 'boolean':
      return value === true ? 'yes' : 'no';
    case 'object':
      return JSON.stringify(value);
    case 'duration':
      return shownDuration(Number(value));
    case 'text':
    case 'uuid':
    case 'image':
    case 'blob':
    case 'one':
    case 'many':
      return plain(value);
  }
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function shownDay(text: string): string {
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) ? text : days.format(day);
}

/** Milliseconds as hours, minutes and seconds. */
function shownDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return '';
  const seconds = Math.abs(milliseconds) / 1000;
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours = 0, minutes = 0, rest = 0] = parts;
  const text = `${hours}:${twoDigits(minutes)}:${twoDigits(Math.floor(rest))}`;
  const fraction =
    milliseconds % 1000 === 0 ? '' : `.${String(Math.abs(milliseconds % 1000)).padStart(3, '0')}`;
  return `${milliseconds < 0 ? '−' : ''}${text}${fraction}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

const counts = new Intl.NumberFormat();

export function shownCount(count: number): string {
  return counts.format(count);
}

export function shownEntities(count: number): string {
  return `${shownCount(count)} ${count === 1 ? 'entity' : 'entities'}`;
}
