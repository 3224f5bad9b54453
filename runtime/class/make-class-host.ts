import { AmbientExecutor, type CompleteAnswer } from '../access/ambient-executor.js';
import type { Call, Calls } from '../access/call.js';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { BindTransaction, TransactionScope } from '../dialect/transaction-scope.js';
import type { Lifecycle } from '../entity/surroundings.js';
import { AfterCommit } from './after-commit.js';
import { defineAccessors } from './accessors.js';
import type {
  ClassHost,
  DataclassCode,
  Entities,
  Reading,
  Seen,
  Selections,
} from './class-host.js';
import { DataclassEntities } from './entities.js';
import { Entity } from './entity.js';
import { EntityLayout } from './entity-layout.js';
import type { ClassRegistry, DataclassClasses } from './registry.js';
import { SeenDataclass } from './seen-dataclass.js';
import type { SeenModel } from './seen-model.js';
import { DataclassSelections } from './selections.js';

/** What the classes of a server are made of. */
export interface ClassParts {
  readonly registry: ClassRegistry;
  readonly calls: Calls;
  readonly locks: LockTable;
  /** All of the model. Its database is an {@link ambientDatabase}. */
  readonly context: SeenModel;
  /** What a call of a session may see; never asked for the server itself. None where nothing is limited. */
  readonly seenBy?: ((call: Call) => SeenModel) | undefined;
  /** Writes to the log what class code fails with that runs behind the answer. */
  readonly tellFailure: (error: Error) => void;
  /** Makes what runs the events; none where no dataclass has any. */
  readonly lifecycle?: ((host: ClassHost) => Lifecycle) | undefined;
  /** Makes what puts values of class code into answers; none where it computes no attributes. */
  readonly completing?: ((host: ClassHost) => CompleteAnswer) | undefined;
  /** Another host runs what requests below `/rest` ask of class code. */
  readonly isSecond?: true;
}

/**
 * A database that takes part in the transaction of the code that asks.
 * @param bound asks class code what restricts statements of a transaction; none where nothing is restricted
 */
export function ambientDatabase(
  database: Database,
  calls: Calls,
  bound?: BindTransaction,
): Database {
  const executor = new AmbientExecutor(database.executor, calls, undefined, bound);
  return { ...database, executor };
}

/** Makes the objects that class code is: the datastore, its dataclasses, and what makes entities and selections. */
export function createClassHost(parts: ClassParts): ClassHost {
  return new Host(parts);
}

class Host implements ClassHost {
  readonly datastore: object;
  readonly calls: Calls;
  readonly locks: LockTable;
  readonly afterCommit: AfterCommit;
  readonly context: SeenModel;
  readonly lifecycle: Lifecycle | undefined;
  readonly #seenBy: ClassParts['seenBy'];
  readonly #codes = new Map<string, Code>();
  readonly #classes: ClassRegistry['dataclasses'];
  readonly #executor: AmbientExecutor;

  constructor(parts: ClassParts) {
    const { registry, calls, locks, context, lifecycle, seenBy } = parts;
    const { executor } = context.database;
    if (!(executor instanceof AmbientExecutor)) {
      throw new Error('Class code needs a database that knows the transaction of its caller.');
    }
    this.#executor = executor;
    this.calls = calls;
    this.locks = locks;
    this.afterCommit = new AfterCommit(calls, parts.tellFailure);
    this.context = context;
    this.#seenBy = seenBy;
    this.lifecycle = lifecycle?.(this);
    const datastore = new registry.datastore(this);
    this.datastore = datastore;
    this.#classes = registry.dataclasses;
    for (const { name } of context.dataclasses.values()) {
      if (registry.dataclasses[name] === undefined) {
        throw new Error(`No classes are given for ${name}.`);
      }
      const get = (): object => this.codeOf(name).instance;
      Object.defineProperty(datastore, name, { get, enumerable: true });
    }
    if (parts.isSecond === true) return;
    executor.completeAnswer = parts.completing?.(this);
    executor.runsCode =
      executor.completeAnswer !== undefined ||
      this.lifecycle !== undefined ||
      executor.isRestricted;
  }

  /** Made when it is first asked for: a server of many dataclasses starts without. */
  codeOf(dataclassName: string): DataclassCode {
    const known = this.#codes.get(dataclassName);
    if (known !== undefined) return known;
    const dataclass = this.context.dataclasses.get(dataclassName);
    const classes = this.#classes[dataclassName];
    if (dataclass === undefined || classes === undefined) {
      throw new Error(`The model has no dataclass ${dataclassName}.`);
    }
    // Who asks first makes no difference.
    const code = this.calls.asServer(() => new Code(this, dataclass, classes));
    this.#codes.set(dataclassName, code);
    return code;
  }

  get isLimited(): boolean {
    return this.#seenBy !== undefined;
  }

  seen(): SeenModel {
    if (this.#seenBy === undefined) return this.context;
    const call = this.calls.current();
    return call.isServer === true ? this.context : this.#seenBy(call);
  }

  reading(): Reading {
    return this.#executor;
  }

  write<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    // Code that belongs to no call may be refused.
    this.calls.current();
    return this.#executor.writeIn(work);
  }

  writeAlone<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const { scope } = this.calls.current();
    return scope === undefined ? this.#executor.writeIn(work) : scope.alone(() => work(scope));
  }
}

class Code implements DataclassCode {
  readonly layout: EntityLayout;
  readonly entities: Entities;
  readonly selections: Selections;
  readonly instance: object;
  readonly #whole: Seen;
  /** Views come and go; what belongs to one goes with it. */
  readonly #seen = new WeakMap<SeenModel, Seen>();

  constructor(
    readonly host: ClassHost,
    readonly dataclass: Dataclass,
    readonly classes: DataclassClasses,
  ) {
    this.layout = new EntityLayout(dataclass);
    this.#whole = new SeenDataclass(this, host.context);
    defineAccessors(this, classes.entity, Entity);
    this.entities = new DataclassEntities(this, classes.entity);
    this.selections = new DataclassSelections(this, classes.selection);
    this.instance = new classes.dataclass(this);
  }

  seen(): Seen {
    const model = this.host.seen();
    if (model === this.host.context) return this.#whole;
    let seen = this.#seen.get(model);
    if (seen === undefined) {
      seen = new SeenDataclass(this, model);
      this.#seen.set(model, seen);
    }
    return seen;
  }
}
