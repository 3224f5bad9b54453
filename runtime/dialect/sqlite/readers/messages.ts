import type { SqlValue } from '../../statement.js';
import type { Rows, Table } from '../../executor.js';

/** The settings of a reader process, passed as JSON in its first argument. */
export interface ReaderSettings {
  /** Path of the database. */
  readonly file: string;
  /** How texts are folded. */
  readonly isFoldedWithoutAccents: boolean;
  readonly hasVectors: boolean;
}

/** The form of the result: see `Executor`. */
export type ReadKind = 'value' | 'rows' | 'table';

/** Sent to the process, one at a time. */
export interface ReadQuestion {
  readonly kind: ReadKind;
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type ReadAnswer = SqlValue | Rows | Table | undefined;

/** Sent by the process for each question. */
export type ReadReply = ReadSuccess | ReadFailure;

interface ReadSuccess {
  readonly answer: ReadAnswer;
  /** The duration of the statement. */
  readonly milliseconds: number;
}

/** An error as it is sent between processes. */
interface ReadFailure {
  readonly failure: {
    /** SQLite's code; absent for other errors. */
    readonly code: string | undefined;
    readonly message: string;
  };
}

/** Sent once when the database is open. */
export const readyMessage = 'ready';
