/**
 * What a schema holds, in a form that is the same for every database, so that two schemas can be compared. Texts of types,
 * expressions and conditions are those of one database, brought to one spelling by whoever reads them.
 */
export interface SchemaShape {
  readonly tables: readonly TableShape[];
}

export interface TableShape {
  readonly name: string;
  readonly columns: readonly ColumnShape[];
  /** Conditions that every row meets: `length("name") <= 120`. */
  readonly checks: readonly string[];
  readonly foreignKeys: readonly ForeignKeyShape[];
  /** But for that of the primary key. */
  readonly indexes: readonly IndexShape[];
}

export interface ColumnShape {
  readonly name: string;
  /** With its collation, where that is not the type's own. */
  readonly type: string;
  readonly isMandatory: boolean;
  readonly isKey: boolean;
  /** How the database draws values: `AUTOINCREMENT`, or an identity. */
  readonly identity?: string;
  /** SQL of the value of rows that are written without one. */
  readonly default?: string;
  /** SQL of a generated column. */
  readonly expression?: string;
}

export interface ForeignKeyShape {
  readonly column: string;
  readonly target: string;
  readonly targetColumn: string;
  /** What follows: `ON DELETE SET NULL`, `DEFERRABLE`; empty for nothing. */
  readonly options: string;
}

export interface IndexShape {
  readonly name: string;
  readonly isUnique: boolean;
  /** What is indexed, in which order. */
  readonly columns: string;
}
