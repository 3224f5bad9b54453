import type { LockTable } from '../../access/locks.js';
import type { RequestScopes } from '../../access/request-scope.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import type { TransactionScope } from '../../dialect/transaction-scope.js';
import type { ReadingContext } from '../../query/reading-context.js';
import type { ChosenEntities } from '../../write/delete.js';
import type { EntityLayout, EntityRow, EntityRows } from './entity-rows.js';
import type { HeldEntities, SelectionNode } from './selection-node.js';
import type { EntityObject } from './types.js';

/** The model as a session sees it, and what its reads share. */
export interface VisibleModel extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** What the objects of class code need of their server. `host.ts` makes it. */
export interface ClassContext {
  /** The instance of the user's `DataStore`. */
  readonly datastore: object;
  readonly scopes: RequestScopes;
  readonly locks: LockTable;
  /**
   * The whole model, whatever a session may see. Its database takes part in the transaction of the
   * calling code.
   */
  readonly model: VisibleModel;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  /** What the calling code may see: everything if it is the server's own, or nothing is limited. */
  visible(): VisibleModel;
  /** @throws Error for a name that is no dataclass of the model */
  codeOf(dataclass: string): DataclassContext;
  /**
   * Runs work in a transaction of its own, or behind a savepoint of the calling code's transaction;
   * the code of the work joins it. If the work throws, all of it is undone.
   * @throws TransactionEndedError if the transaction of the code is over
   */
  write<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T>;
  /** Writes as {@link write}, without a savepoint, what changes something with its last statement and runs no class code. */
  writeAlone<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T>;
}

/** What the objects of one dataclass need: instances of the users' classes, and the rows behind them. */
export interface DataclassContext {
  readonly host: ClassContext;
  /** The dataclass as the whole model has it. */
  readonly dataclass: Dataclass;
  readonly layout: EntityLayout;
  /** The instance of the user's dataclass class: `ds.Company`. */
  readonly instance: object;
  /** Reads rows of all entities, whoever asks: for saves, deletions and events. */
  readonly allRows: EntityRows;
  /** The dataclass as the calling code may see it. Reads use it late: when they run. */
  visible(): VisibleDataclass;
  /**
   * The rows that the calling code may read.
   * @throws PermissionError
   */
  readableRows(): EntityRows;
  /** An entity as an instance of the user's class. */
  fromRow(row: EntityRow): EntityObject;
  /**
   * A new entity, with the defaults of the model and what its event `init` sets.
   * @throws whatever `init` throws
   */
  create(): EntityObject;
  /**
   * One entity that the calling code may read.
   * @param value the key in any case; a value in stored form if an attribute is named
   * @param attribute the name of a unique one; the key if it is left out
   * @throws PermissionError
   */
  load(value: string | number, attribute?: string): Promise<EntityObject | undefined>;
  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   * @throws PermissionError
   */
  loadAll(keys: readonly (string | number)[]): Promise<readonly (EntityObject | undefined)[]>;
  /** A lazy selection as an instance of the user's class. */
  select(content: SelectionNode | HeldEntities): object;
}

/** A dataclass for the running code. */
export interface VisibleDataclass {
  readonly model: VisibleModel;
  readonly dataclass: Dataclass;
  readonly writing: EntityWriter;
}

/** Stores and deletes the entities of one dataclass as clients do. */
export interface EntityWriter {
  /** @throws SaveError */
  save(entity: EntityObject): Promise<void>;
  /** @throws SaveError */
  drop(entity: EntityObject): Promise<void>;
  /**
   * Deletes the entities that a statement selects.
   * @returns how many these were
   * @throws SaveError
   */
  dropChosen(entities: ChosenEntities): Promise<number>;
}
