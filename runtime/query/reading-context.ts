import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Database } from '../dialect/database.js';
import type { Statement } from '../dialect/statement.js';
import type { FilterParser } from '../filter/prepared-filter.js';
import type { AnswerOptions } from './context.js';
import type { ComputedRequests } from './computed-requests.js';
import type { Counts } from './counts.js';
import { refuse } from '../protocol/errors.js';
import type { SelectionPlan } from './selection.js';

/** What readers of all dataclasses share. */
export interface ReadingContext {
  readonly database: Database;
  readonly options: AnswerOptions;
  readonly filters: FilterParser;
  readonly limits: { readonly maxPageSize: number; readonly expandDepth: number };
  readonly plans: Plans;
  readonly counts: Counts;
  /** Present if class code computes attributes of the model. */
  readonly computed?: ComputedRequests | undefined;
}

/** The recently written statements of all dataclasses, by what decides them. */
export interface Plans {
  readonly selections: BoundedCache<SelectionPlan>;
  readonly entities: BoundedCache<Statement>;
}

/** Bytes of the plans of each kind. */
const maxPlanBytes = 16 * 1024 * 1024;

/** @param bytes of the plans of each kind */
export function emptyPlans(bytes = maxPlanBytes): Plans {
  const weigh = ({ sql, bindings }: Statement): number => sql.length + bindings.length * 16;
  return {
    selections: new BoundedCache(
      bytes,
      ({ statement, ifTooLarge }) =>
        weigh(statement) + (ifTooLarge === undefined ? 0 : weigh(ifTooLarge)),
    ),
    entities: new BoundedCache(bytes, weigh),
  };
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
