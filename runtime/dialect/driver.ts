import type { Environment } from '../protocol/environment.js';
import type { Fold } from '../protocol/fold.js';
import type { AuditAccess } from './audit-access.js';
import type { Database } from './database.js';
import type { DataOptions } from './schema/migrate-data.js';
import type { Migrations } from './schema/migration.js';
import type { StateDatabase, StateSchema } from './state-database.js';
import type { VectorAccess } from './vector-access.js';

/** Opens databases of one kind. */
export interface DatabaseDriver {
  /** Schemes of the `DATABASE_URL`s that this driver opens: the part before the first colon. */
  readonly schemes: readonly string[];
  /** Examples of such URLs, for messages. */
  readonly urls: string;
  /**
   * Opens the database of a `DATABASE_URL`. Creates its schema, or compares and extends an existing one.
   * @param schema one SQL statement each
   * @param fold how texts are compared
   * @throws Error with the reason if the database cannot be opened or belongs to another model
   */
  open(
    url: string,
    schema: readonly string[],
    fold: Fold,
    options: DriverOptions,
  ): Promise<Database>;
  /** Describes what migrations would do to the data; changes nothing. */
  plan(
    url: string,
    schema: readonly string[],
    fold: Fold,
    data: DataOptions,
  ): Promise<readonly string[]>;
  /**
   * Copies a database, so that a start can be tried on the copy; servers may use the database meanwhile.
   * @param target does not exist yet: a file, or a schema in the same database
   * @throws Error with the reason; a partial copy is removed
   */
  copy(url: string, target: string, options: CopyOptions): Promise<DatabaseCopy>;
  /**
   * Uses what servers remember about their clients in a database, if there is something. The schema
   * of the model does not matter.
   */
  withState(url: string, schema: StateSchema, use: UseState): Promise<void>;
}

export type UseState = (state: Pick<StateDatabase, 'run'>) => Promise<void>;

export interface CopyOptions {
  readonly fold: Fold;
  readonly log: (words: string) => void;
}

export interface DatabaseCopy {
  /** A `DATABASE_URL`. */
  readonly url: string;
  /** How to use it and how to remove it. */
  readonly words: readonly string[];
}

interface DriverOptions {
  /** Whether the model has vector attributes. */
  readonly hasVectors: boolean;
  /** Milliseconds that a statement may run; `null` means no limit. */
  readonly queryTimeout: number | null;
  /** Environment variables with the settings of the driver. */
  readonly environment: Environment;
  /** What the server knows about its data in addition to their schema. */
  readonly data?: DataOptions;
  /** Called with what a start waits for, while it waits. */
  readonly log?: (words: string) => void;
}

/** A kind of database that a server supports, and the schema that the model requires. */
export interface ServedDatabase {
  readonly driver: DatabaseDriver;
  /** Used if this is the server's first database and `DATABASE_URL` is not set. */
  readonly defaultUrl: string;
  /** The database schema, one statement each. */
  readonly schema: readonly string[];
  /** Only for a model with vectors. */
  readonly vectors?: VectorAccess;
  /** Only for a model with audit. */
  readonly audit?: AuditAccess;
  /** The migrations of `src/migrations`; absent if there are none. */
  readonly migrations?: Migrations;
}
