import type { Diagnostic } from '../../source/diagnostic.js';

/** One kind of problem. The holes of its text are typed, so that each report fills exactly those. */
export interface Message<Fill> {
  readonly severity: Diagnostic['severity'];
  /** What the problem means, for the table of all problems in docs/diagnostics.md. */
  readonly meaning: string;
  readonly text: (fill: Fill) => string;
}

export type MessageTable = Readonly<Record<string, Message<never>>>;
