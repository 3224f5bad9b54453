import type { JsonValue, StorageType } from '../../../generator/model/model.js';
import { scale } from '../../support/random-model/random-model.js';

/** A single value that is not null, in the form that is compared. */
export type Scalar = string | number | boolean;

/** The form in which texts are compared. */
export type Fold = (text: string) => string;

/** Filters F30: default lower-casing of the NFC form. */
export const folded: Fold = (text) => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');

/**
 * Filters F29: the same without accents, which are the marks that belong to no particular script.
 */
export const foldedWithoutAccents: Fold = (text) =>
  folded(text.normalize('NFD').replace(/(?=\p{M})\p{Script=Inherited}/gu, ''));

/**
 * Text by code point of its folded form, numbers by size, false before true; nulls come first
 * (protocol P3.13).
 */
export function compareValues(
  left: JsonValue,
  right: JsonValue,
  type: StorageType,
  fold: Fold,
): number {
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  if (type === 'decimal' && typeof left === 'string' && typeof right === 'string') {
    return compareDecimals(left, right);
  }
  if (typeof left === 'string' && typeof right === 'string') {
    return type === 'string'
      ? compareByCodePoint(fold(left), fold(right))
      : compareByCodePoint(left, right);
  }
  return Number(left) - Number(right) > 0 ? 1 : Number(left) < Number(right) ? -1 : 0;
}

/** Decimals with which numbers are compared: more than any number of a test has. */
const most = 1500n;

/** A number of a client as a multiple of 10^-1500. */
function unitsOf(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return (
    BigInt(`${whole}${fraction}`.replace('+', '')) *
    10n ** (most + BigInt(exponent) - BigInt(fraction.length))
  );
}

function compareDecimals(left: string, right: string): number {
  const difference = unitsOf(left) - unitsOf(right);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/** The digits of a decimal with its point. */
export function decimalText(units: bigint, decimals: bigint): string {
  const unit = 10n ** decimals;
  const size = units < 0n ? -units : units;
  const fraction = decimals === 0n ? '' : `.${String(size % unit).padStart(Number(decimals), '0')}`;
  return `${units < 0n ? '-' : ''}${String(size / unit)}${fraction}`;
}

/** Exact; an average has 4 decimals more, and is rounded half away from zero (protocol P5.12). */
export function ofDecimals(
  aggregate: 'sum' | 'average',
  values: readonly JsonValue[],
  decimals = Number(scale),
): string | null {
  const texts = values.filter((each) => typeof each === 'string');
  const sum = texts.reduce((all, each) => all + BigInt(each.replace('.', '')), 0n);
  if (aggregate === 'sum') return decimalText(sum, BigInt(decimals));
  if (values.length === 0) return null;
  const count = BigInt(values.length);
  const size = (sum < 0n ? -sum : sum) * 10_000n;
  const rounded = (size * 2n + count) / (count * 2n);
  return decimalText(sum < 0n ? -rounded : rounded, BigInt(decimals) + 4n);
}

export function compareByCodePoint(left: string, right: string): number {
  const a = Array.from(left, (each) => each.codePointAt(0) ?? 0);
  const b = Array.from(right, (each) => each.codePointAt(0) ?? 0);
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const numeric = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const dayForm = /^\d{4}-\d\d-\d\d$/;
const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;
const bangForm = /^(\d{1,2})!(\d{1,2})!(\d{4})$/;
const uuidForm = /^([0-9A-F]{32}|[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12})$/i;

/**
 * A client's value as one of the type; `undefined` if it cannot be read as one, so that its filter is
 * refused (filters F34).
 */
export function coerced(type: StorageType, dateOnly: boolean, value: Scalar): Scalar | undefined {
  switch (type) {
    case 'string':
      return String(value);
    case 'uuid':
      return typeof value === 'string' && uuidForm.test(value)
        ? value.replaceAll('-', '').toUpperCase()
        : undefined;
    case 'number':
    case 'integer':
    case 'duration':
      if (typeof value === 'number') return value + 0;
      return typeof value === 'string' && numeric.test(value) ? Number(value) + 0 : undefined;
    case 'decimal':
      return typeof value !== 'boolean' && numeric.test(String(value)) ? String(value) : undefined;
    case 'boolean':
      if (value === 'true' || value === 'false') return value === 'true';
      if (value === 0 || value === 1) return value === 1;
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      if (typeof value !== 'string') return undefined;
      return dateOnly ? dayOf(value) : instantOf(value);
    case 'object':
    case 'vector':
    case 'image':
    case 'blob':
      return undefined;
  }
}

function dayOf(text: string): string | undefined {
  if (dayForm.test(text)) return isInCalendar(text) ? text : undefined;
  if (instantForm.test(text)) return text.slice(0, 10);
  const [, day, month, year] = bangForm.exec(text) ?? [];
  if (day === undefined || month === undefined || year === undefined) return undefined;
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

function instantOf(text: string): string | undefined {
  if (!dayForm.test(text) && !instantForm.test(text)) return undefined;
  return isInCalendar(text) ? new Date(text).toISOString() : undefined;
}

function isInCalendar(text: string): boolean {
  return new Date(text).toISOString().startsWith(text.slice(0, 10));
}

/** A value of a body in the form that is stored and sent. */
export function sentForm(type: StorageType, dateOnly: boolean, value: JsonValue): JsonValue {
  if (value === null) return null;
  if (typeof value === 'object') return JSON.parse(JSON.stringify(value)) as JsonValue;
  if (type === 'decimal') return decimalText(unitsOf(String(value)) / 10n ** (most - scale), scale);
  return coerced(type, dateOnly, value) ?? null;
}
