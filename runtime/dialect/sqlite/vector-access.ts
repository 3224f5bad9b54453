import { sql } from 'kysely';
import { singlePrecision } from '../../protocol/vector.js';
import type { RoundedVectors } from '../vector-access.js';

/** By the functions of {@link file://./vector-extension.ts}. */
export const sqliteVectors: RoundedVectors = {
  precision: 'single',
  direction: singlePrecision,
  // The extension refuses null and vectors of different lengths; the length of a BLOB is known without reading it.
  unitDistance: (unit, given, dimensions) =>
    sql`iif(length(${unit}) = ${sql.lit(dimensions * 4)}, vec_distance_L2(${unit}, ${given}), null)`,
  compareScore: (vector, comparison) => sql`drs_compare_score(${vector}, ${comparison})`,
  square: (value) => sql`pow(${value}, 2)`,
  squareRoot: (value) => sql`sqrt(${value})`,
  notNegative: (value) => sql`max(0.0, ${value})`,
};
