import { AmbientExecutor } from '../access/ambient-executor.js';
import type { Calls } from '../access/call.js';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { TransactionScope } from '../dialect/transaction-scope.js';
import type { Lifecycle } from '../entity/lifecycle.js';
import type { ReadingContext } from '../query/reading-context.js';
import { defineAccessors } from './accessors.js';
import type {
  ClassHost,
  DataclassCode,
  Entities,
  Reading,
  Selections,
  Writing,
} from './class-host.js';
import { DataclassEntities } from './entities.js';
import { Entity } from './entity.js';
import { EntityLayout } from './entity-layout.js';
import { EntityWriting } from './entity-writing.js';
import type { ClassRegistry, DataclassClasses } from './registry.js';
import { DataclassSelections } from './selections.js';

/** What the classes of a server are made of. */
export interface ClassParts {
  readonly registry: ClassRegistry;
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  readonly calls: Calls;
  readonly locks: LockTable;
  /** Its database is an {@link ambientDatabase}. */
  readonly context: ReadingContext;
  /** Makes what runs the events; none where no dataclass has any. */
  readonly lifecycle?: ((host: ClassHost) => Lifecycle) | undefined;
}

/** A database that takes part in the transaction of the code that asks. */
export function ambientDatabase(database: Database, calls: Calls): Database {
  return { ...database, executor: new AmbientExecutor(database.executor, calls) };
}

/** Makes the objects that class code is: the datastore, its dataclasses, and what makes entities and selections. */
export function createClassHost(parts: ClassParts): ClassHost {
  return new Host(parts);
}

class Host implements ClassHost {
  readonly datastore: object;
  readonly calls: Calls;
  readonly locks: LockTable;
  readonly context: ReadingContext;
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  readonly lifecycle: Lifecycle | undefined;
  readonly #codes = new Map<string, Code>();
  readonly #executor: AmbientExecutor;

  constructor(parts: ClassParts) {
    const { registry, dataclasses, calls, locks, context, lifecycle } = parts;
    const { executor } = context.database;
    if (!(executor instanceof AmbientExecutor)) {
      throw new Error('Class code needs a database that knows the transaction of its caller.');
    }
    this.#executor = executor;
    this.calls = calls;
    this.locks = locks;
    this.context = context;
    this.dataclasses = dataclasses;
    this.lifecycle = lifecycle?.(this);
    const datastore = new registry.datastore(this);
    this.datastore = datastore;
    for (const dataclass of dataclasses.values()) {
      const classes = registry.dataclasses[dataclass.name];
      if (classes === undefined) throw new Error(`No classes are given for ${dataclass.name}.`);
      const code = new Code(this, dataclass, classes);
      this.#codes.set(dataclass.name, code);
      const { instance: value } = code;
      Object.defineProperty(datastore, dataclass.name, { value, enumerable: true });
    }
  }

  codeOf(dataclassName: string): DataclassCode {
    const code = this.#codes.get(dataclassName);
    if (code === undefined) throw new Error(`The model has no dataclass ${dataclassName}.`);
    return code;
  }

  reading(): Reading {
    return this.#executor;
  }

  write<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
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
  #writing: Writing | undefined;

  constructor(
    readonly host: ClassHost,
    readonly dataclass: Dataclass,
    readonly classes: DataclassClasses,
  ) {
    this.layout = new EntityLayout(dataclass);
    defineAccessors(this, classes.entity, Entity);
    this.entities = new DataclassEntities(this, classes.entity);
    this.selections = new DataclassSelections(this, classes.selection);
    this.instance = new classes.dataclass(this);
  }

  /** Made when it is needed: events know all dataclasses. */
  get writing(): Writing {
    this.#writing ??= new EntityWriting(this);
    return this.#writing;
  }
}
