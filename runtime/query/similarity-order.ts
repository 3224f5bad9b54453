import type { Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import { refuse } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';

/**
 * What grows as the similarity to the vector falls that the filter compares with (protocol section 8), by the filter's
 * metric; null where there is none. Similarity is told apart to about six digits here.
 * @throws RequestError 400 with 1810 where the filter does not compare the vector
 */
export function similarityOrder(
  { similarities }: QueryContext,
  source: Source,
  attribute: string,
  { path }: OrderItem,
): Sql {
  const rank = similarities.rankOf(source, attribute);
  if (rank === undefined) {
    const name = path.join('.');
    throw refuse(
      'orderBy',
      `${name} is a vector, which gives an order only by its similarity to another one: add a comparison such as ${name} >= :1 to $filter.`,
    );
  }
  return rank;
}
