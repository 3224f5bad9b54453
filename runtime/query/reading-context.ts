import type { Database } from '../dialect/database.js';
import type { FilterParser } from '../filter/prepared-filter.js';
import type { AnswerOptions } from './context.js';
import type { CursorSecret } from './cursor-token.js';
import type { Counts } from './counts.js';
import { refuse } from '../protocol/errors.js';
import type { StatementCache } from './statement-cache.js';
import type { ComputedRequests } from './selection-request.js';
import type { Tags } from './tags.js';

/** What readers of all dataclasses share. */
export interface ReadingContext {
  readonly database: Database;
  readonly options: AnswerOptions;
  readonly filters: FilterParser;
  readonly limits: { readonly maxPageSize: number; readonly expandDepth: number };
  readonly statements: StatementCache;
  readonly counts: Counts;
  readonly tags: Tags;
  readonly cursors: CursorSecret;
  /** Present if class code computes attributes of the model. */
  readonly computed?: ComputedRequests | undefined;
}

/** The most entities of an answer. @throws RequestError 400 above the server's limit (protocol P1.8) */
export function pageTop(
  { limits, options }: Pick<ReadingContext, 'limits' | 'options'>,
  requested: number | undefined,
): number {
  const top = requested ?? options.pageSize;
  if (top > limits.maxPageSize) {
    throw refuse(
      'malformedUrl',
      `$top is ${top}; this server sends at most ${limits.maxPageSize} entities at once (limit maxPageSize, MAX_PAGE_SIZE). Read the others with $skip, or page by page from an entity set ($method=entityset).`,
    );
  }
  return top;
}
