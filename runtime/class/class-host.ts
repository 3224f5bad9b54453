import type { RequestScopes } from '../access/request-scope.js';
import type { Reads } from '../access/scope-executor.js';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { From } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { Pending } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { TransactionScope } from '../dialect/transaction-scope.js';
import type { Lifecycle } from '../entity/surroundings.js';
import type { KeyList } from '../entity-set/key-list.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import type { Aggregate } from '../query/compute.js';
import type { AfterCommit } from './after-commit.js';
import type { ExclusiveWorks } from './exclusive.js';
import type { EntityLayout } from './entity-layout.js';
import type { SelectionNode } from './selection-node.js';
import type { EntityObject } from './types.js';
import type { ReadingContext } from '../query/reading-context.js';

/**
 * The parts behind all class code of one server; made by `createClassHost` (`make-class-host.ts`).
 */
export interface ClassHost {
  /** The instance of the user's `DataStore`. */
  readonly datastore: object;
  readonly scopes: RequestScopes;
  readonly locks: LockTable;
  readonly afterCommit: AfterCommit;
  readonly exclusive: ExclusiveWorks;
  /** Runs the events of entities, if there are some. */
  readonly lifecycle: Lifecycle | undefined;
  /**
   * The whole model, whatever a session may see. Its database takes part in the transaction of the
   * calling code.
   */
  readonly context: VisibleModel;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  /**
   * What the calling code may see: {@link context} if the code is the server's own, or nothing is
   * limited.
   */
  visible(): VisibleModel;
  /** @throws Error for a name that is no dataclass of the model */
  codeOf(dataclassName: string): DataclassCode;
  reading(): Reads;
  /**
   * Runs work in a transaction of its own, or behind a savepoint of the calling code's transaction;
   * the code of the work joins it. If the work throws, all of it is undone.
   * @throws TransactionEndedError if the transaction of the code is over
   */
  write<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
  /** The same without a savepoint, for work that changes something with its last statement and runs no class code. */
  writeAlone<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
}

/** The classes of one dataclass, and what makes their instances. */
export interface DataclassCode {
  readonly host: ClassHost;
  /** Of the whole model. */
  readonly dataclass: Dataclass;
  /** The instance of the user's dataclass class: `ds.Company`. */
  readonly instance: object;
  readonly layout: EntityLayout;
  readonly entities: Entities;
  readonly selections: Selections;
  /** The dataclass as the calling code may see it. Reads use it late: when they run. */
  visible(): VisibleDataclass;
}

/**
 * A dataclass as the sessions of one view see it, and its readers and writers for code with their
 * privileges.
 */
export interface VisibleDataclass {
  readonly model: VisibleModel;
  readonly dataclass: Dataclass;
  readonly rows: RowReader;
  readonly reader: SelectionReading;
  readonly writing: Writing;
}

/** Rows of entities by their keys. */
export interface RowReader {
  /** @param key in any case; no entity has a key that is impossible for the type */
  byKey(key: string | number): Promise<readonly SqlValue[] | undefined>;
  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  byKeys(keys: readonly (string | number)[]): Promise<readonly (readonly SqlValue[] | undefined)[]>;
}

/** Reads selections of one dataclass; reports what is wrong with one, and what may not be read. */
export interface SelectionReading {
  count(node: SelectionNode): Promise<number>;
  /** In order. */
  entities(node: SelectionNode): Promise<EntityObject[]>;
  /** In order. */
  keys(node: SelectionNode): Pending<KeyList>;
  /**
   * @param path as behind a dataclass in the address of `$compute`
   * @throws RequestError for a wrong path
   */
  compute(node: SelectionNode, path: string, aggregate: Aggregate): Promise<unknown>;
  /** @throws RequestError for a wrong path */
  distinct(node: SelectionNode, path: string): Promise<unknown[]>;
}

/** Makes entities of one dataclass. */
export interface Entities {
  /**
   * The columns that {@link fromRow} needs of each row, in this order; joins the targets of
   * aliases.
   */
  columns(from: From): readonly Sql[];
  fromRow(row: readonly SqlValue[]): EntityObject;
  /** Rows of all entities, whoever asks: for the saver, the deleter and events. */
  readonly allRows: RowReader;
  /**
   * The row of one entity that the calling code may read.
   * @param key in any case
   * @throws PermissionError, as all reads of class code
   */
  readRow(key: string | number): Promise<readonly SqlValue[] | undefined>;
  /** A new entity, with the defaults of the model. */
  create(): EntityObject;
  /** The same as an entity. */
  load(key: string | number): Promise<EntityObject | undefined>;
  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  loadAll(keys: readonly (string | number)[]): Promise<readonly (EntityObject | undefined)[]>;
}

/** Stores and deletes entities of one dataclass for class code. */
export interface Writing {
  /** @throws SaveError */
  save(entity: EntityObject): Promise<void>;
  /** @throws SaveError */
  drop(entity: EntityObject): Promise<void>;
  /**
   * Deletes the entities that a statement lists (see `chooseEntities`).
   * @returns their number
   * @throws SaveError
   */
  dropChosen(choose: Statement, values: readonly SqlValue[]): Promise<number>;
}

/** Makes lazy selections of one dataclass. */
export interface Selections {
  all(): object;
  /**
   * @param filter in the language of `$filter`
   * @param values of its placeholders
   */
  query(filter: string, values: readonly unknown[]): object;
  /** A list in memory, without entities. */
  none(): object;
  /** The entities of some keys, in their order; ignores keys that no entity has. */
  fromKeys(keys: Iterable<string | number>): object;
  /** Any selection of this dataclass. */
  of(node: SelectionNode): object;
  /**
   * The entities of this dataclass to which a to-many relation of another entity leads.
   * @param relation leads to this dataclass
   * @param key of the other entity; `null` for one that is not saved
   */
  related(relation: RelatedEntitiesDefinition, key: string | number | null): object;
}

/** The model as a session sees it, and what its reads share. */
export interface VisibleModel extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** A dataclass of the whole model as a view has it. */
export function visibleDataclass(
  { dataclasses }: Pick<VisibleModel, 'dataclasses'>,
  { name }: Pick<Dataclass, 'name'>,
): Dataclass {
  const dataclass = dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return dataclass;
}
