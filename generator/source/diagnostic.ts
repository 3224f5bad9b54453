/** A range of a source file; offsets count UTF-16 code units, `end` is exclusive. */
export interface Origin {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

/** One problem of a model file, ready to be shown or sent as data. */
export interface Diagnostic {
  /** Stable, `family/problem`; listed in docs/diagnostics.md. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  /** What is wrong and what would be right, one or two sentences. */
  readonly message: string;
  readonly origin: Origin;
  /** The place in the model, for instance `dataclasses.Employee.attributes.employer.to`; empty for the whole file. */
  readonly path: string;
  /** A similar name or another solution, printed next to the caret. */
  readonly help?: string;
}

/** The result of a stage of the generator: a value, unless a problem is an error. */
export interface Checked<T> {
  readonly value: T | undefined;
  readonly problems: readonly Diagnostic[];
}
