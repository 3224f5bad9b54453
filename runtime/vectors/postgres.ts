import { sql } from 'kysely';
import type {
  ComparedVector,
  StoredVector,
  TakeSlot,
  VectorAccess,
} from '../dialect/vector-access.js';
import { arrayText } from '../protocol/vector.js';
import { readVector } from './values.js';

/** By functions of {@link file://../dialect/postgres/functions.ts}, whose doubles are as fast as anything that it has. */
export const postgresVectors: VectorAccess = { read: readVector, compare };

function compare({ norm, unit }: StoredVector, take: TakeSlot): ComparedVector {
  const givenNorm = take('given norm', (values) => values.norm);
  const givenUnit = take('given unit', (values) =>
    values.unit === null ? null : arrayText(values.unit),
  );
  const metric = take('metric', ({ given }) => given.metric);
  const threshold = take('threshold', ({ given }) => given.threshold);
  const compared = sql.join([unit, norm, givenUnit, givenNorm, metric, threshold]);
  return {
    order: sql`drs_compare_score(${compared})`,
    rank: () => sql`drs_similarity_rank(${compared})`,
  };
}
