import type { Database } from 'better-sqlite3';
import type { MaxScore } from './conditions.js';
import type { Counts } from './counts.js';
import type { PageQuery } from './query.js';

/** JSON as it is sent; `undefined` for unknown entities and requests. */
export type Answer = string | Uint8Array | undefined;

/** The answers in which the two servers written by hand differ. */
export interface Answers {
  readonly employee: (key: number) => Answer;
  readonly employees: (query: PageQuery) => Answer;
  readonly companies: (query: PageQuery) => Answer;
  /** So many cities, those with the greatest sums of salaries. */
  readonly groups: (top: number) => Answer;
  readonly salaries: () => Answer;
  readonly members: (page: SetPage) => Answer;
  /** The answer for a saved employee. */
  readonly saved: (key: number) => string;
}

/** A page of an entity set. */
export interface SetPage {
  /** A JSON list; an employee that does not exist any more keeps its place. */
  readonly keys: string;
  /** The number of employees of the whole set. */
  readonly count: number;
  readonly first: number;
  /** The beginning of the answer. */
  readonly head: string;
}

/** Prepares the statements for users who may see employees below a score. */
export type AnswersOf = (database: Database, counts: Counts, maxScore: MaxScore) => Answers;
