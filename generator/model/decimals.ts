import {
  compareDecimals as compareTexts,
  decimalValue,
  textOf,
} from '../../runtime/protocol/decimal.js';
import type { Database } from './model.js';

/** How many digits the values of a decimal have, and how many of them are behind the point. */
export interface Digits {
  readonly precision: number;
  readonly scale: number;
}

/** A decimal as the server stores it. */
export function decimalOf(value: unknown, digits: Digits): string | undefined {
  const decimal = decimalValue(value, digits);
  return 'value' in decimal ? decimal.value : undefined;
}

/** Compares two decimals as they are stored: negative, 0 or positive. */
export function compareDecimals(a: string | number, b: string | number): number {
  // Of a model in which the attribute was a number.
  if (typeof a === 'number' || typeof b === 'number') return Math.sign(Number(a) - Number(b));
  return compareTexts(a, b);
}

/** A decimal with the decimals of its column, which SQLite holds as an integer: its digits without the point. */
export function decimalConstant(value: string, database: Database): string {
  return database === 'sqlite' ? String(BigInt(value.replace('.', ''))) : value;
}

/** The greatest decimal of so many digits. */
export function greatestDecimal({ precision, scale }: Digits): string {
  return textOf({ units: 10n ** BigInt(precision) - 1n, scale });
}
