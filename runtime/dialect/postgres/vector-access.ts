import { sql } from 'kysely';
import type { Sql } from '../sql.js';
import type { ComparedVector, ExactVectors } from '../vector-access.js';

/** By functions of {@link file://./vector-functions.ts}: no extension is needed. */
export const postgresVectors: ExactVectors = {
  precision: 'double',
  direction: (numbers) => `{${numbers.join()}}`,
  compareScore: (vector) => sql`drs_compare_score(${sql.join(argumentsOf(vector))})`,
  rank: (vector) => sql`drs_similarity_rank(${sql.join(argumentsOf(vector))})`,
};

function argumentsOf(vector: ComparedVector): readonly Sql[] {
  const { norm, unit, givenNorm, givenUnit, metric, threshold } = vector;
  return [unit, norm, givenUnit, givenNorm, metric, threshold];
}
