import type { Calls } from '../access/call.js';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { From } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { Executor } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { TransactionScope } from '../dialect/transaction-scope.js';
import type { Lifecycle } from '../entity/surroundings.js';
import type { KeyList } from '../entity-set/key-list.js';
import type { RelatedEntitiesDefinition } from '../protocol/definition.js';
import type { Aggregate } from '../query/compute.js';
import type { AfterCommit } from './after-commit.js';
import type { EntityLayout } from './entity-layout.js';
import type { SelectionNode } from './selection-node.js';
import type { EntityObject } from './types.js';
import type { ReadingContext } from '../query/reading-context.js';

/** Reads inside the transaction of the code that asks, where there is one; else what is committed. */
export type Reading = Pick<Executor, 'read' | 'value' | 'rows' | 'table'>;

/** All that class code of one server stands on; made by `createClassHost` (`make-class-host.ts`). */
export interface ClassHost {
  /** The instance of the user's `DataStore`. */
  readonly datastore: object;
  readonly calls: Calls;
  readonly locks: LockTable;
  readonly afterCommit: AfterCommit;
  /** What runs the events of entities, where there are some. */
  readonly lifecycle: Lifecycle | undefined;
  /** All of the model, whatever a session may see. Its database takes part in the transaction of the code that asks. */
  readonly context: SeenModel;
  /** Whether sessions may see less of the model than there is. */
  readonly isLimited: boolean;
  /** What the code that asks may see: {@link context} where it is the server's own, or nothing is limited. */
  seen(): SeenModel;
  /** @throws Error for a name that is no dataclass of the model */
  codeOf(dataclassName: string): DataclassCode;
  reading(): Reading;
  /**
   * Runs work in a transaction of its own, or behind a savepoint of the one that the code is part of; what the work runs joins
   * it. All of it is undone when it throws.
   * @throws TransactionEndedError when the transaction of the code is over
   */
  write<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
  /** The same without a savepoint, for work that changes something with its last statement and runs no class code. */
  writeAlone<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
}

/** The classes of one dataclass, and what their instances are made by. */
export interface DataclassCode {
  readonly host: ClassHost;
  /** Of the whole model. */
  readonly dataclass: Dataclass;
  /** The instance of the user's dataclass class: `ds.Company`. */
  readonly instance: object;
  readonly layout: EntityLayout;
  readonly entities: Entities;
  readonly selections: Selections;
  /** The dataclass as the code that asks may see it. What it reads is read by that, late: when it is used. */
  seen(): Seen;
}

/** A dataclass as the sessions of one view see it, and what reads and writes it for code that runs with their privileges. */
export interface Seen {
  readonly model: SeenModel;
  readonly dataclass: Dataclass;
  readonly rows: Rows;
  readonly reader: SelectionReading;
  readonly writing: Writing;
}

/** Rows of entities by their keys. */
export interface Rows {
  /** @param key in any case; one that no entity can have is one that none has */
  byKey(key: string | number): Promise<readonly SqlValue[] | undefined>;
  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  byKeys(keys: readonly (string | number)[]): Promise<readonly (readonly SqlValue[] | undefined)[]>;
}

/** Reads selections of one dataclass; what is wrong with one, and what may not be read, is told then. */
export interface SelectionReading {
  count(node: SelectionNode): Promise<number>;
  /** In order. */
  entities(node: SelectionNode): Promise<EntityObject[]>;
  /** In order. */
  keys(node: SelectionNode): Pending<KeyList>;
  /**
   * @param path as behind a dataclass in the address of `$compute`
   * @throws RequestError for a path that is not right
   */
  compute(node: SelectionNode, path: string, aggregate: Aggregate): Promise<unknown>;
  /** @throws RequestError for a path that is not right */
  distinct(node: SelectionNode, path: string): Promise<unknown[]>;
}

/** Makes entities of one dataclass. */
export interface Entities {
  /** What {@link fromRow} wants of each row, in this order; joins what aliases lead to. */
  columns(from: From): readonly Sql[];
  fromRow(row: readonly SqlValue[]): EntityObject;
  /** Rows of all entities, whoever's call runs: what the saver, the deleter and events have to know. */
  readonly allRows: Rows;
  /**
   * The row of one entity that the current call may read.
   * @param key in any case
   * @throws PermissionError, as all that reads for class code
   */
  readRow(key: string | number): Promise<readonly SqlValue[] | undefined>;
  /** A new entity, with the defaults of the model. */
  create(): EntityObject;
  /** The same as an entity; a key that no entity can have is one that none has. */
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
   * @returns how many those were
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
  /** The entities of some keys, in their order; keys that no entity has are passed over. */
  fromKeys(keys: Iterable<string | number>): object;
  /** Any selection of this dataclass. */
  of(node: SelectionNode): object;
  /**
   * The entities of this dataclass that a to-many relation of another entity leads to.
   * @param relation leads to this dataclass
   * @param key of the other entity; `null` for one that is not saved, which has none
   */
  related(relation: RelatedEntitiesDefinition, key: string | number | null): object;
}

/** The model as the session of a call sees it, and what its reads share. */
export interface SeenModel extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** A dataclass of the whole model as a view has it. */
export function seenDataclass(
  { dataclasses }: Pick<SeenModel, 'dataclasses'>,
  { name }: Pick<Dataclass, 'name'>,
): Dataclass {
  const dataclass = dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return dataclass;
}
