/** A schema in a form in which two schemas of a database can be compared, in a uniform spelling. */
export interface SchemaShape {
  readonly tables: readonly TableShape[];
}

export interface TableShape {
  readonly name: string;
  readonly columns: readonly ColumnShape[];
  /** Conditions that every row meets: `length("name") <= 120`. */
  readonly checks: readonly string[];
  readonly foreignKeys: readonly ForeignKeyShape[];
  /** Without the index of the primary key. */
  readonly indexes: readonly IndexShape[];
}

export interface ColumnShape {
  readonly name: string;
  /** With its collation, if that is not the type's default. */
  readonly type: string;
  readonly isMandatory: boolean;
  readonly isKey: boolean;
  /** How the database generates values: `AUTOINCREMENT`, or an identity. */
  readonly identity?: string;
  /** SQL of the default value. */
  readonly default?: string;
  /** SQL of a generated column. */
  readonly expression?: string;
}

export interface ForeignKeyShape {
  readonly column: string;
  readonly target: string;
  readonly targetColumn: string;
  /** Actions and modes: `ON DELETE SET NULL`, `DEFERRABLE`; empty for none. */
  readonly options: string;
}

export interface IndexShape {
  readonly name: string;
  readonly isUnique: boolean;
  /** The indexed columns or expressions, in order. */
  readonly columns: string;
}
