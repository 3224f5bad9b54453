import { postgresSchema } from '../../../generator/emit/schema/postgres.js';
import { NotPortable } from '../../../generator/model/expression/not-portable.js';
import type { Model } from '../../../generator/model/model.js';

/**
 * Whether PostgreSQL can compute the expressions of a model; otherwise the generator refuses the
 * model for PostgreSQL.
 */
export function isPortable(model: Model): boolean {
  try {
    postgresSchema(model);
    return true;
  } catch (error) {
    if (error instanceof NotPortable) return false;
    throw error;
  }
}
