import type { Database } from 'better-sqlite3';
import type { MaxScore } from './conditions.js';
import type { Counts } from './counts.js';
import type { PageQuery } from './query.js';

/** JSON as it is sent; nothing for what is not there or not understood. */
export type Answer = string | Uint8Array | undefined;

/** The answers that two ways of writing the same server differ in. */
export interface Answers {
  readonly employee: (key: number) => Answer;
  readonly employees: (query: PageQuery) => Answer;
  readonly companies: (query: PageQuery) => Answer;
  readonly salaries: () => Answer;
  readonly members: (page: SetPage) => Answer;
  /** An employee that was saved. */
  readonly saved: (key: number) => string;
}

/** A page of an entity set. */
export interface SetPage {
  /** A JSON list; an employee that does not exist any more keeps its place. */
  readonly keys: string;
  /** Of the whole set. */
  readonly count: number;
  readonly first: number;
  /** What the answer begins with. */
  readonly head: string;
}

/** Prepares the statements, for those who may see employees below a score. */
export type AnswersOf = (database: Database, counts: Counts, maxScore: MaxScore) => Answers;
