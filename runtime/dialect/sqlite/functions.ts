import type { Database } from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { uriKey } from '../../protocol/uri.js';

/** The functions that statements of this server call and SQLite does not have. */
export function registerFunctions(database: Database, fold: Fold): void {
  const options = { deterministic: true };
  database.function('drs_fold', options, (text: unknown) =>
    typeof text === 'string' ? fold(text) : null,
  );
  database.function('drs_uri', options, (text: unknown) =>
    typeof text === 'string' ? uriKey(text) : null,
  );
}
