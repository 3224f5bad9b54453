import type { StorageType } from './definition.js';

export interface ComparisonInput {
  /** Of a literal, or a JSON value of `$params`. */
  readonly value: unknown;
  /** Of a literal: its text. */
  readonly text?: string;
}

/** `undefined`: no value of that type. */
export function comparisonValue(
  type: StorageType,
  dateOnly: boolean,
  input: ComparisonInput,
): string | number | null | undefined {
  void [type, dateOnly, input];
  throw new Error('not written yet');
}
