import { digitsOfDouble } from '../../runtime/protocol/decimal.js';
import type { Database } from './model.js';

/** How many digits the values of a decimal have, and how many of them are behind the point. */
export interface Digits {
  readonly precision: number;
  readonly scale: number;
}

const form = /^([+-]?)(\d+)(?:\.(\d+))?$/;

/** A decimal as the server stores it. A number is taken by its digits, of which a double holds 15. */
export function decimalOf(value: unknown, { precision, scale }: Digits): string | undefined {
  const isNumber = typeof value === 'number';
  if (!isNumber && typeof value !== 'string') return undefined;
  const text = isNumber ? value.toFixed(scale) : value;
  const [, sign = '', written, more = ''] = form.exec(text) ?? [];
  if (written === undefined || (isNumber && Number(text) !== value)) return undefined;
  const whole = written.replace(/^0+(?=\d)/, '');
  const decimals = more.replace(/0+$/, '').padEnd(scale, '0');
  const digits = `${whole}${decimals}`.replace(/^0+/, '');
  if (decimals.length > scale || digits.length > precision) return undefined;
  if (isNumber && digits.replace(/0+$/, '').length > digitsOfDouble) return undefined;
  const isNegative = sign === '-' && digits !== '' && /[1-9]/.test(digits);
  return `${isNegative ? '-' : ''}${whole}${scale === 0 ? '' : `.${decimals}`}`;
}

/** Compares two decimals as they are stored: negative, 0 or positive. */
export function compareDecimals(a: string | number, b: string | number): number {
  // Of a model in which the attribute was a number.
  if (typeof a === 'number' || typeof b === 'number') return Math.sign(Number(a) - Number(b));
  const decimals = (text: string): number => /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
  const scale = Math.max(decimals(a), decimals(b));
  const units = (text: string): bigint => unitsOf(text) * 10n ** BigInt(scale - decimals(text));
  const difference = units(a) - units(b);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/** A decimal with the decimals of its column, which SQLite holds as an integer: its digits without the point. */
export function decimalConstant(value: string, database: Database): string {
  return database === 'sqlite' ? String(unitsOf(value)) : value;
}

/** The greatest decimal of so many digits. */
export function greatestDecimal({ precision, scale }: Digits): string {
  const digits = '9'.repeat(precision).padStart(scale + 1, '0');
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function unitsOf(text: string): bigint {
  return BigInt(text.replace('.', ''));
}
