import type { SqlValue } from '../../statement.js';
import type { Rows, Table } from '../../executor.js';

/** What a process that reads is started with, as JSON in its first argument. */
export interface ReaderSettings {
  /** Path of the database. */
  readonly file: string;
  /** How texts are folded. */
  readonly isFoldedWithoutAccents: boolean;
  readonly hasVectors: boolean;
}

/** How much of a statement's rows is wanted: see `Executor`. */
export type ReadKind = 'value' | 'rows' | 'table';

/** Sent to the process: one at a time. */
export interface ReadQuestion {
  readonly kind: ReadKind;
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type ReadAnswer = SqlValue | Rows | Table | undefined;

/** Sent by the process for each question. */
export type ReadReply = ReadSuccess | ReadFailure;

export interface ReadSuccess {
  readonly answer: ReadAnswer;
  /** That the statement took. */
  readonly milliseconds: number;
}

/** An error does not cross between processes as it is. */
export interface ReadFailure {
  readonly failure: {
    /** SQLite's; none for other errors. */
    readonly code: string | undefined;
    readonly message: string;
  };
}

/** Sent once, when the database is open. */
export const readyMessage = 'ready';

/** What a value of a row is sent with. */
const bytesPerValue = 16;

/** Bytes of what is sent between processes, roughly. */
export function sizeOf(answer: ReadAnswer): number {
  if (typeof answer === 'string' || answer instanceof Uint8Array) return answer.length;
  if (answer === null || typeof answer !== 'object') return 8;
  const rows = 'rows' in answer ? answer.rows : answer;
  return rows.length * (rows[0]?.length ?? 0) * bytesPerValue;
}
