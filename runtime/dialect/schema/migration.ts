import type { Fold } from '../../protocol/fold.js';
import type { ColumnShape, SchemaShape } from './shape.js';
import type { Trial } from './trial.js';

/** The changes of data that a start does not make by itself, in names and values of the database. */
export interface Migration {
  /** Two migrations of two branches that start from the same model conflict. */
  readonly from: string;
  readonly to: string;
  /** Each step runs once, in this order. */
  readonly steps: readonly MigrationStep[];
}

export type MigrationStep = FillStep | ConvertStep | RenameStep | DropStep;

export type ColumnValue = string | number | bigint | Uint8Array | null;

/** One text if both databases understand it. */
export type SqlText = string | { readonly sqlite?: string; readonly postgres?: string };

/** Computes values in batches. Servers of the older model keep running. */
export interface FillStep {
  readonly kind: 'fill';
  readonly table: string;
  /** The column that the step is for: without it, and if the model no longer has it, nothing is filled. */
  readonly column?: string;
  /** A condition that selects the rows; all rows if it is absent. */
  readonly where?: SqlText;
  /** The new values of a row by column: SQL for each, or a function of the row. */
  readonly set:
    Readonly<Record<string, SqlText>> | ((row: never) => RowValues | PromiseLike<RowValues>);
}

export type RowValues = Readonly<Record<string, ColumnValue>>;

/** Converts the values of a column to the type of the new model. Servers of the older model can no longer run. */
export interface ConvertStep {
  readonly kind: 'convert';
  readonly table: string;
  readonly column: string;
  /** The SQL type of the column before, for a fill step that needs a column which this step converts. */
  readonly was?: SqlText;
  /** SQL of the new value. */
  readonly value: SqlText;
  /** SQL that finds the rows whose value is not preserved, in addition to those whose new value is NULL. */
  readonly loses?: SqlText;
  /** How many values may be lost; 0 by default. */
  readonly atMost?: number;
}

/** Renames a table or one of its columns. Servers of the older model can no longer run. */
export interface RenameStep {
  readonly kind: 'rename';
  readonly table: string;
  readonly column?: string;
  readonly to: string;
  /**
   * The database may have both, because `renamedFrom` was written late: then the values of a column move to where
   * none are, and it is dropped.
   */
  readonly mayExist?: true;
}

/** A table, or a column of the table, that has another name now. */
export type RenamedPart = Pick<RenameStep, 'table' | 'column' | 'to'>;

/** Drops a table or a column that the model does not use. */
export interface DropStep {
  readonly kind: 'drop';
  readonly table: string;
  readonly column?: string;
  /** How many values, or rows of the table, may be lost. The step waits until this is set. */
  readonly atMost?: number;
}

/** Whether servers of the older model can no longer run after a step. */
export function isContract(step: MigrationStep): boolean {
  return step.kind !== 'fill';
}

/** Describes a step, with the names of the database. */
export function stepWords(step: MigrationStep): string {
  switch (step.kind) {
    case 'fill':
      return `fill "${step.table}"`;
    case 'convert':
      return `convert "${step.table}"."${step.column}"`;
    case 'rename':
      return step.column === undefined
        ? `rename table "${step.table}" to "${step.to}"`
        : `rename "${step.table}"."${step.column}" to "${step.to}"`;
    case 'drop':
      return step.column === undefined
        ? `drop table "${step.table}"`
        : `drop "${step.table}"."${step.column}"`;
  }
}

/** The migrations of a server. */
export interface Migrations {
  readonly names: readonly string[];
  /**
   * Runs the open steps in order, each once.
   * @returns the steps that wait for a decision, in words
   * @throws MigrationError that names the step that failed, or the one that only `migrate` may run
   */
  run(database: MigratedDatabase, options: MigrationOptions): Promise<readonly string[]>;
  /** Describes what {@link run} would do. */
  plan(database: MigratedDatabase, options: MigrationOptions): Promise<readonly string[]>;
  /** Describes the open steps without which the server cannot start. */
  pending(database: MigratedDatabase): Promise<readonly string[]>;
  /** Marks all steps as unnecessary in a database that this model created. */
  skip(database: MigratedDatabase): Promise<void>;
}

export interface MigrationOptions {
  readonly fold: Fold;
  /** The hash of the wanted schema: identifies servers of other models. */
  readonly hash: string;
  /** Whether steps run after which servers of the older model cannot work. */
  readonly withContracts: boolean;
  readonly tell: (line: string) => void;
  /** Receives a report of each step when they are tried on a copy. */
  readonly trial?: Trial | undefined;
}

export type MigrationRow = Readonly<Record<string, ColumnValue>>;

/** The new values of the row with a key; the stamp of the entity increases. */
export interface UpdatedRow {
  readonly key: ColumnValue;
  readonly values: RowValues;
}

/** The changes of a table that come before its rows are filled. */
export interface Expansion {
  readonly added: readonly ColumnShape[];
  /** Names of columns that may be empty from now on. */
  readonly loosened: readonly string[];
  /** The rules that no longer apply. */
  readonly dropped: readonly string[];
}

/** A database, of either kind, whose data are migrated. SQL parameters are `$1`, `$2`. */
export interface MigratedDatabase {
  readonly kind: 'sqlite' | 'postgres';
  /** The clause that locks the rows of a query until they are updated. */
  readonly forUpdate: string;
  query(sql: string, values?: readonly ColumnValue[]): Promise<readonly MigrationRow[]>;
  /** Updates rows, which all set the same columns; needs an open transaction. */
  update(table: string, key: string, rows: readonly UpdatedRow[]): Promise<void>;
  /** @param use `rebuilding` for changes of tables, during which foreign keys may not be enforced */
  transaction<T>(work: () => Promise<T>, use?: 'rebuilding'): Promise<T>;
  hasTable(name: string): Promise<boolean>;
  /** The present schema. */
  present(): Promise<SchemaShape>;
  /** The schema that the model wants. */
  wanted(): Promise<SchemaShape>;
  /** Needs an open transaction. Added columns have no values. */
  expand(table: string, expansion: Expansion): Promise<void>;
  /** Renames a column; needs an open transaction. */
  renameColumn(table: string, from: string, to: string): Promise<void>;
  /** Gives recorded changes the new name of a table, or of its column; needs an open transaction. */
  renameRecorded(renamed: RenamedPart): Promise<void>;
  /** Drops columns with their rules and indexes; needs an open transaction. */
  dropColumns(table: string, columns: readonly string[]): Promise<void>;
}
