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
  readonly functions?: Readonly<Partial<Record<FunctionLevel, FunctionTable>>>;
}

/** Members of every client that class code does not have: a model may use their names. */
const clientMembers = {
  selection: ['select', 'expand', 'each', 'set', 'release'],
  datastore: ['singletons', 'atomic', 'with'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Whether a client cannot have a dataclass or a function of this name. */
export function isClientMember(level: keyof typeof clientMembers, name: string): boolean {
  return (clientMembers[level] as readonly string[]).includes(name);
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
