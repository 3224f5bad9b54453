import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';

// A column may be called true, so that word is never written.
export const always = sql`1 = 1`;
export const never = sql`1 = 0`;

/** NOT: a condition over null is no true one, and so its opposite holds (protocol decision 23). */
export function not(condition: Sql): Sql {
  return sql`not coalesce(${condition}, ${never})`;
}

/** @param conditions one at least */
export function all(conditions: readonly Sql[]): Sql {
  return balanced(conditions, sql` and `);
}

/** @param conditions one at least */
export function any(conditions: readonly Sql[]): Sql {
  return balanced(conditions, sql` or `);
}

/** Joins conditions as a balanced tree: SQLite's parser refuses expressions that are nested deeper than 1000. */
function balanced(conditions: readonly Sql[], operator: Sql): Sql {
  const [only] = conditions;
  if (conditions.length === 1 && only !== undefined) return only;
  const middle = conditions.length >> 1;
  const left = balanced(conditions.slice(0, middle), operator);
  const right = balanced(conditions.slice(middle), operator);
  return sql`(${left}${operator}${right})`;
}
