import { refuse } from '../protocol/errors.js';
import type { Projection } from './projection.js';

/** Two levels of to-many relations fit with pages of 100, three levels only with a few entities. */
const maxRelatedEntities = 2_000_000;

/**
 * The most entities that one entity of an answer can bring along over to-many relations: each
 * relation brings up to a page, and each entity of that page brings its own expansions.
 */
export function mostRelated({ fields }: Projection, pageSize: number): number {
  let most = 0;
  for (const { attribute, expanded } of fields) {
    if (expanded === undefined) continue;
    const beyond = mostRelated(expanded, pageSize);
    most += attribute.kind === 'relatedEntities' ? pageSize * (1 + beyond) : beyond;
  }
  return most;
}

/**
 * Relations of relations multiply: an answer that could contain too many entities is refused before
 * any work is done.
 * @throws RequestError 400 with 1805
 */
export function refuseTooManyRelated(count: number): void {
  if (count <= maxRelatedEntities) return;
  throw refuse(
    'expandList',
    `The expanded relations could return more than ${maxRelatedEntities} entities: name fewer of them, or a smaller $top.`,
  );
}
