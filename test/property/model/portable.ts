import { postgresSchema } from '../../../generator/emit/schema/postgres.js';
import { NotPortable } from '../../../generator/model/expression/not-portable.js';
import type { Model } from '../../../generator/model/model.js';

/** Whether the expressions of a model have a form for PostgreSQL; the generator refuses a model that has others for it. */
export function isPortable(model: Model): boolean {
  try {
    postgresSchema(model);
    return true;
  } catch (error) {
    if (error instanceof NotPortable) return false;
    throw error;
  }
}
