import type { Expectation, Request } from './row.js';

/** A rule of the guides that this version does not keep yet. */
export interface Gap {
  readonly id: string;
  readonly says: string;
  readonly request: Request;
  /** What the sentence wants. */
  readonly wanted: Expectation;
  /** What this version answers instead. */
  readonly today: Expectation;
}

/** May only become shorter: it is empty, and stays so. */
export const gaps: readonly Gap[] = [];
