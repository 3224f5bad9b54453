import { refuse } from '../protocol/errors.js';
import type { ReadingContext } from './reading-context.js';

/**
 * The number of entities that an answer holds at most.
 * @throws RequestError 400 for a `$top` above the server's limit (protocol decision 5)
 */
export function pageTop(
  { limits, options }: Pick<ReadingContext, 'limits' | 'options'>,
  requested: number | undefined,
): number {
  const top = requested ?? options.pageSize;
  if (limits.maxPageSize !== null && top > limits.maxPageSize) {
    throw refuse(
      'malformedUrl',
      `$top is ${top}; this server sends at most ${limits.maxPageSize} entities.`,
    );
  }
  return top;
}
