import { ConflictError } from './executor.js';
import { caught, type Pending } from './pending.js';

/**
 * Runs a transaction, and once more where it met others and the database gave it up. Class code must not run in it: what that
 * has done outside of the database would be done twice.
 */
export function againAfterConflict<T>(write: () => Pending<T>): Pending<T> {
  return caught(write, (error) => {
    if (!(error instanceof ConflictError)) throw error;
    return write();
  });
}
