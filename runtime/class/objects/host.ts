import type { LockTable } from '../../access/locks.js';
import type { RequestScopes } from '../../access/request-scope.js';
import type { ScopeExecutor } from '../../access/scope-executor.js';
import { type Dataclass, dataclassIn } from '../../dataclass/dataclasses.js';
import { requireReadInCode } from '../../dataclass/permissions.js';
import type { StateDatabase } from '../../dialect/state-database.js';
import type { TransactionScope } from '../../dialect/transaction-scope.js';
import type { Lifecycle, WriteRestrictions } from '../../write/surroundings.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { defineEntityMembers, defineSelectionMembers } from './accessors.js';
import { AfterCommit } from './after-commit.js';
import type { ClassContext, DataclassContext, VisibleDataclass, VisibleModel } from './context.js';
import type { DatastoreState } from './datastore.js';
import { EntityLayout, type EntityRow, EntityRows } from './entity-rows.js';
import { ExclusiveWorks } from './exclusive.js';
import { EntityState } from './entity-state.js';
import { EntityWriting } from './entity-writing.js';
import type { ClassRegistry, DataclassClasses } from './registry.js';
import type { SelectionState } from './selection.js';
import type { Turns } from './turns.js';
import type { EntityObject } from './types.js';

/** What the classes of a server are made from. */
interface ClassParts {
  readonly registry: ClassRegistry;
  readonly scopes: RequestScopes;
  readonly turns: Turns;
  readonly locks: LockTable;
  /** Undefined if this process is the only server. */
  readonly state: StateDatabase | undefined;
  /** Logs errors of class code that runs after the answer. */
  readonly logFailure: (error: Error) => void;
}

/** What class code reads and writes. Its parts may call class code, but not while they are made. */
export interface ClassData {
  /** The whole model. */
  readonly model: VisibleModel;
  readonly executor: ScopeExecutor;
  /** Runs events; none if no dataclass has any. */
  readonly lifecycle: Lifecycle | undefined;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: WriteRestrictions | undefined;
  /** The model of code of requests; the whole one if nothing is limited. */
  readonly ofRequests: VisibleModel;
}

/**
 * Makes the objects of class code of one server: the datastore, and of each dataclass its object,
 * entities and selections.
 */
export class ClassHost<Data extends ClassData = ClassData> implements ClassContext, DatastoreState {
  readonly datastore: object;
  readonly scopes: RequestScopes;
  readonly locks: LockTable;
  readonly afterCommit: AfterCommit;
  readonly exclusive: ExclusiveWorks;
  readonly data: Data;
  readonly #codes = new Map<string, DataclassCode>();
  readonly #classes: ClassRegistry['dataclasses'];

  /** @param dataOf makes what class code reads and writes, which calls class code in turn */
  constructor(
    { registry, scopes, turns, locks, state, logFailure }: ClassParts,
    dataOf: (host: ClassContext) => Data,
  ) {
    this.scopes = scopes;
    this.locks = locks;
    this.afterCommit = new AfterCommit(scopes, logFailure);
    this.exclusive = new ExclusiveWorks(scopes, state, turns);
    this.#classes = registry.dataclasses;
    this.data = dataOf(this);
    const datastore = new registry.datastore(this);
    this.datastore = datastore;
    for (const { name } of this.model.dataclasses.values()) {
      if (registry.dataclasses[name] === undefined) {
        throw new Error(`No classes are given for ${name}.`);
      }
      const get = (): object => this.codeOf(name).instance;
      Object.defineProperty(datastore, name, { get, enumerable: true });
    }
  }

  get model(): VisibleModel {
    return this.data.model;
  }

  get isLimited(): boolean {
    return this.data.ofRequests !== this.data.model;
  }

  visible(): VisibleModel {
    const { model, ofRequests } = this.data;
    return this.scopes.current().isServer === true ? model : ofRequests;
  }

  /** Made at the first use: a server of many dataclasses starts without. */
  codeOf(dataclassName: string): DataclassContext {
    return getOrInsertComputed(this.#codes, dataclassName, () => {
      const dataclass = dataclassIn(this.model, dataclassName);
      const classes = this.#classes[dataclassName] as DataclassClasses;
      // The first caller makes no difference.
      return this.scopes.asServer(() => new DataclassCode(this, dataclass, classes));
    });
  }

  write<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T> {
    // Code that belongs to no request may be refused.
    this.scopes.current();
    return this.data.executor.writeIn(work);
  }

  writeAlone<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T> {
    const { transaction } = this.scopes.current();
    return transaction === undefined
      ? this.data.executor.writeIn(work)
      : transaction.alone(() => work(transaction));
  }
}

/** The classes of one dataclass, and what makes their instances. */
class DataclassCode implements DataclassContext {
  readonly layout: EntityLayout;
  readonly instance: object;
  readonly allRows: EntityRows;
  readonly #whole: DataclassView;
  #ofRequests: DataclassView | undefined;
  readonly #defaults: EntityRow;
  readonly #entityClass: new (state: EntityState) => EntityObject;
  readonly #selectionClass: new (state: SelectionState) => object;

  constructor(
    readonly host: ClassHost,
    readonly dataclass: Dataclass,
    { dataclass: dataclassClass, entity, selection }: DataclassClasses,
  ) {
    this.layout = new EntityLayout(dataclass);
    this.allRows = new EntityRows(host.model.database, dataclass, this.layout);
    this.#whole = new DataclassView(this, host.model);
    this.#defaults = this.layout.defaults();
    this.#entityClass = entity;
    this.#selectionClass = selection;
    defineEntityMembers(this, entity);
    defineSelectionMembers(dataclass, selection);
    this.instance = new dataclassClass(this);
  }

  visible(): DataclassView {
    const model = this.host.visible();
    if (model === this.host.model) return this.#whole;
    return (this.#ofRequests ??= new DataclassView(this, model));
  }

  readableRows(): EntityRows {
    const { dataclass, rows } = this.visible();
    requireReadInCode(dataclass);
    return rows;
  }

  fromRow(row: EntityRow): EntityObject {
    return new this.#entityClass(new EntityState(this, row, false));
  }

  create(): EntityObject {
    const entity = new this.#entityClass(new EntityState(this, this.#defaults, true));
    const { name, events } = this.dataclass;
    if (events.includes('init')) initialize(entity, name);
    return entity;
  }

  async load(value: string | number, attribute?: string): Promise<EntityObject | undefined> {
    const rows = this.readableRows();
    const row = await (attribute === undefined
      ? rows.byKey(value)
      : rows.byUnique(attribute, value));
    return row === undefined ? undefined : this.fromRow(row);
  }

  async loadAll(
    keys: readonly (string | number)[],
  ): Promise<readonly (EntityObject | undefined)[]> {
    const rows = await this.readableRows().byKeys(keys);
    return rows.map((row) => (row === undefined ? undefined : this.fromRow(row)));
  }

  select(content: SelectionState['content']): object {
    return new this.#selectionClass({ code: this, content });
  }
}

/** Each part is made when it is first needed. */
class DataclassView implements VisibleDataclass {
  readonly dataclass: Dataclass;
  #rows: EntityRows | undefined;
  #writing: EntityWriting | undefined;

  constructor(
    private readonly code: DataclassCode,
    readonly model: VisibleModel,
  ) {
    this.dataclass = dataclassIn(model, code.dataclass.name);
  }

  get rows(): EntityRows {
    const { dataclass, allRows, host, layout } = this.code;
    if (this.dataclass === dataclass) return allRows;
    return (this.#rows ??= new EntityRows(host.model.database, this.dataclass, layout));
  }

  get writing(): EntityWriting {
    const { lifecycle, restrictions } = this.code.host.data;
    return (this.#writing ??= new EntityWriting(this.code, this.model, {
      lifecycle,
      restrictions,
      locks: this.code.host.locks,
    }));
  }
}

/** Runs the event `init`; class code gets its new entity at once, so the event cannot wait for something. */
function initialize(entity: EntityObject, dataclass: string): void {
  const shown = `${dataclass}Entity.init`;
  const handler: unknown = Reflect.get(entity, 'init');
  if (typeof handler !== 'function') throw new TypeError(`${shown} is not a method.`);
  const answer: unknown = Reflect.apply(handler, entity, []);
  if (answer === undefined) return;
  if (answer instanceof Promise) answer.catch(() => undefined);
  throw new TypeError(`${shown} must return nothing, and must not be async.`);
}
