import type { Expectation, Request } from '../support/row.js';

/** A rule of the guides that this version does not implement yet. */
export interface Gap {
  readonly id: string;
  readonly says: string;
  readonly request: Request;
  /** The answer of the rule. */
  readonly wanted: Expectation;
  /** The answer of this version. */
  readonly today: Expectation;
}

/** May only become shorter: it is empty, and stays so. */
export const gaps: readonly Gap[] = [];
