import type { Environment } from '../protocol/environment.js';
import type { Fold } from '../protocol/fold.js';
import type { Database } from './database.js';
import type { DataOptions } from './schema/migrate-data.js';
import type { VectorAccess } from './vector-access.js';

/** Opens databases of one kind. */
export interface DatabaseDriver {
  /** How a `DATABASE_URL` of this kind begins, up to its first colon. */
  readonly schemes: readonly string[];
  /** What such a URL looks like, for messages. */
  readonly urls: string;
  /**
   * Opens the database of a `DATABASE_URL` and creates its schema; the one that is there is compared, and may be added to.
   * @param schema one SQL statement each
   * @param fold how texts are compared
   * @throws Error that says why, when it cannot be opened or was made for another model
   */
  open(
    url: string,
    schema: readonly string[],
    fold: Fold,
    options: DriverOptions,
  ): Promise<Database>;
  /** What migrations would do to the data, in words; changes nothing of them. */
  plan(
    url: string,
    schema: readonly string[],
    fold: Fold,
    data: DataOptions,
  ): Promise<readonly string[]>;
  /**
   * Copies a database, so that a start can be tried on the copy; servers may use the database meanwhile.
   * @param target what is not there yet: a file, or a schema beside that of the database
   * @throws Error that says why it cannot; nothing is left of the copy then
   */
  copy(url: string, target: string, options: CopyOptions): Promise<DatabaseCopy>;
}

export interface CopyOptions {
  readonly fold: Fold;
  readonly log: (words: string) => void;
}

export interface DatabaseCopy {
  /** A `DATABASE_URL`. */
  readonly url: string;
  /** How somebody uses it, and what removes it. */
  readonly words: readonly string[];
}

export interface DriverOptions {
  /** Whether the model has vector attributes. */
  readonly hasVectors: boolean;
  /** Milliseconds that a statement may run; `null` means no limit. */
  readonly queryTimeout: number | null;
  /** Where a driver's own settings are looked up. */
  readonly environment: Environment;
  /** What the server knows of its data beside their schema. */
  readonly data?: DataOptions;
  /** Is told what a start waits for, while it does. */
  readonly log?: (words: string) => void;
}

/** A kind of database that a server takes, and what the model wants to be in it. */
export interface ServedDatabase {
  readonly driver: DatabaseDriver;
  /** Used where this one is the server's first and `DATABASE_URL` is not set. */
  readonly defaultUrl: string;
  /** The database schema, one statement each. */
  readonly schema: readonly string[];
  /** Only for a model with vectors. */
  readonly vectors?: VectorAccess;
}
