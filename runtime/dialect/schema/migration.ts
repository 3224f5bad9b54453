import type { Fold } from '../../protocol/fold.js';
import type { Trial } from './trial.js';

/**
 * What happens to the data between two versions of a model beside what a start does by itself. Tables and columns have their
 * names in the database, and values the form in which it keeps them.
 */
export interface Migration {
  /** Tells the model that it leads from: two migrations of two branches that begin with the same one are told. */
  readonly from: string;
  readonly to: string;
  /** Done in this order, each once. */
  readonly steps: readonly MigrationStep[];
}

export type MigrationStep = FillStep | ConvertStep | RenameStep | DropStep;

export type ColumnValue = string | number | bigint | Uint8Array | null;

/** One text where both databases understand it. */
export type Sql = string | { readonly sqlite?: string; readonly postgres?: string };

/** Computes values, in batches. Servers of the older model keep running. */
export interface FillStep {
  readonly kind: 'fill';
  readonly table: string;
  /** Which rows; all of them where it is left out. */
  readonly where?: Sql;
  /** The values of a row by its columns: SQL for each, or a function of the row. */
  readonly set:
    Readonly<Record<string, Sql>> | ((row: never) => RowValues | PromiseLike<RowValues>);
}

export type RowValues = Readonly<Record<string, ColumnValue>>;

/** Gives the values of a column the type that the model has now. Servers of the older model cannot run any more. */
export interface ConvertStep {
  readonly kind: 'convert';
  readonly table: string;
  readonly column: string;
  /** SQL of the new value. */
  readonly value: Sql;
  /** SQL that finds rows whose value is not the same afterwards, beside those whose new value is NULL. */
  readonly loses?: Sql;
  /** How many values may be lost; 0 where it is left out. */
  readonly atMost?: number;
}

/** Renames a table, or one of its columns. Servers of the older model cannot run any more. */
export interface RenameStep {
  readonly kind: 'rename';
  readonly table: string;
  readonly column?: string;
  readonly to: string;
}

/** Drops a table, or one of its columns, that no attribute of the model uses. */
export interface DropStep {
  readonly kind: 'drop';
  readonly table: string;
  readonly column?: string;
  /** How many values, or rows of the table, may be lost. The step waits until it is said. */
  readonly atMost?: number;
}

/** Steps after which servers of the older model cannot run. */
export function isContract(step: MigrationStep): boolean {
  return step.kind !== 'fill';
}

/** A step in words. */
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

/** The migrations of a server, and what runs them. */
export interface Migrations {
  readonly names: readonly string[];
  /**
   * Does the steps that were not done yet, in their order, each once.
   * @returns what waits for somebody's word, in words
   * @throws MigrationError that names the step that failed, or that only `migrate` may do
   */
  run(database: MigratedDatabase, options: MigrationOptions): Promise<readonly string[]>;
  /** What {@link run} would do, in words. */
  plan(database: MigratedDatabase, options: MigrationOptions): Promise<readonly string[]>;
  /** The steps without which the server cannot start, that are not done, in words. */
  pending(database: MigratedDatabase): Promise<readonly string[]>;
  /** Notes that nothing has to be done in a database that was made by this model. */
  skip(database: MigratedDatabase): Promise<void>;
}

export interface MigrationOptions {
  readonly fold: Fold;
  /** Of the schema that the model wants: tells servers of other models. */
  readonly hash: string;
  /** Whether steps are done after which servers of the older model cannot run. */
  readonly withContracts: boolean;
  readonly tell: (line: string) => void;
  /** Is told of the steps instead, where they are tried on a copy. */
  readonly trial?: Trial | undefined;
}

export type Row = Readonly<Record<string, ColumnValue>>;

/** What is written into the row of a key; the stamp of its entity is raised. */
export interface UpdatedRow {
  readonly key: ColumnValue;
  readonly values: RowValues;
}

/** A column as it is in the database. */
export interface PresentColumn {
  readonly name: string;
  readonly isKey: boolean;
  /** Its values may be large. */
  readonly isLarge: boolean;
}

/** A column that the model wants. */
export interface WantedColumn {
  readonly name: string;
  readonly type: string;
}

/** A database whose data are migrated, of either kind. Parameters stand in SQL as `$1`, `$2`. */
export interface MigratedDatabase {
  readonly kind: 'sqlite' | 'postgres';
  /** What is added to a query so that its rows are not changed before they are updated. */
  readonly forUpdate: string;
  query(sql: string, values?: readonly ColumnValue[]): Promise<readonly Row[]>;
  /** Writes values into rows, which all have the same columns; a transaction is open. */
  update(table: string, key: string, rows: readonly UpdatedRow[]): Promise<void>;
  /** @param use `rebuilding` where tables are changed: foreign keys may not be enforced meanwhile */
  transaction<T>(work: () => Promise<T>, use?: 'rebuilding'): Promise<T>;
  hasTable(name: string): Promise<boolean>;
  /** The columns of a table that hold values of their own; none where there is no such table. */
  columns(table: string): Promise<readonly PresentColumn[]>;
  /** Those that the model wants. */
  wantedColumns(table: string): Promise<readonly WantedColumn[]>;
  /** Adds the columns of a table that the model wants, empty, and drops the rules that it no longer has; in a transaction. */
  expand(table: string): Promise<void>;
  /** Other tables that refer to this one. */
  referring(table: string): Promise<readonly string[]>;
  /** Renames a column; a transaction is open. */
  renameColumn(table: string, from: string, to: string): Promise<void>;
  /** Drops columns with the rules and indexes that name them; a transaction is open. */
  dropColumns(table: string, columns: readonly string[]): Promise<void>;
}

/** A migration cannot go on. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
