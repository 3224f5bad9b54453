/** What a client knows of a model at run time; the emitted part of a client holds it. */
export interface ModelTable {
  readonly pageSize: number;
  readonly dataclasses: Readonly<Record<string, DataclassTable>>;
  /** Functions of the datastore. */
  readonly functions?: FunctionTable;
  readonly singletons?: Readonly<Record<string, FunctionTable>>;
}

export interface DataclassTable {
  /** Type of the primary key. */
  readonly key: 'string' | 'number';
  readonly attributes: Readonly<Record<string, AttributeTable>>;
  /** Whether changes of its entities are recorded. */
  readonly audit?: true;
  readonly functions?: Readonly<Partial<Record<FunctionLevel, FunctionTable>>>;
}

export type FunctionLevel = 'dataclass' | 'selection' | 'entity';

/** Name → type of the result. */
export type FunctionTable = Readonly<Record<string, ResultType>>;

export interface AttributeTable {
  /** Absent for a relation. */
  readonly type?: ClientValueType;
  /** Dataclass of a to-one relation. */
  readonly one?: string;
  /** Dataclass of a to-many relation. */
  readonly many?: string;
  /** Whether a client may not set it. */
  readonly readOnly?: true;
}

/** `plain`: as JSON has it. */
export type ClientValueType = 'plain' | 'date' | 'day' | 'object' | 'image' | 'blob';

export type ResultType =
  | ClientValueType
  | 'void'
  | 'message'
  | { readonly entity: string }
  | { readonly selection: string }
  | { readonly list: ResultType };
