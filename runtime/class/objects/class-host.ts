import { sql } from 'kysely';
import type { LockTable } from '../../access/locks.js';
import type { RequestScopes } from '../../access/request-scope.js';
import type { Reads, ScopeExecutor } from '../../access/scope-executor.js';
import type { Session } from '../../access/session.js';
import { isRelation, type ToManyDefinition } from '../../dataclass/attribute-path.js';
import { comparableKey } from '../../dataclass/comparable.js';
import { type Dataclass, dataclassIn } from '../../dataclass/dataclasses.js';
import { requireReadInCode } from '../../dataclass/permissions.js';
import { From, Aliases } from '../../dataclass/source.js';
import { type SqlValue, Slot, type Statement } from '../../dialect/statement.js';
import type { StateDatabase } from '../../dialect/state-database.js';
import type { TransactionScope } from '../../dialect/transaction-scope.js';
import { valueTypeOf } from '../../dialect/value-type.js';
import type { Lifecycle, WriteRestrictions } from '../../write/surroundings.js';
import { keysOf, type KeyType } from '../../entity-set/key-list.js';
import { memberName } from '../../protocol/definition.js';
import { decodeKey } from '../../protocol/key.js';
import { queryOf } from '../../protocol/queries.js';
import { storedValue } from '../../protocol/values.js';
import type { ReadingContext } from '../../query/reading-context.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { defineAccessors, prototypeBelow } from './accessors.js';
import { AfterCommit } from './after-commit.js';
import { Entity } from './entity.js';
import { EntityLayout } from './entity-layout.js';
import { ExclusiveWorks } from './exclusive.js';
import { EntityState } from './entity-state.js';
import { EntityWriting } from './entity-writing.js';
import type { ClassRegistry, DataclassClasses } from './registry.js';
import { allOf, entityOf, listed, reachedFrom, type SelectionNode } from './selection-node.js';
import { SelectionReader } from './selection-reader.js';
import { type SelectionState, nodeOf, selectionOf, HeldEntities } from './selection-state.js';
import { EntitySelection, queried } from './selection.js';
import type { EntityObject } from './types.js';

/** The model as a session sees it, and what its reads share. */
export interface VisibleModel extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  /** A different text for each view of the model, empty for the whole model. */
  readonly viewName: string;
}

/** What the classes of a server are made from. */
interface ClassParts {
  readonly registry: ClassRegistry;
  readonly scopes: RequestScopes;
  readonly locks: LockTable;
  /** None if this process is the only server. */
  readonly state: StateDatabase | undefined;
  /** Logs errors of class code that runs after the answer. */
  readonly logFailure: (error: Error) => void;
}

/** What class code reads and writes. Its parts may call class code, but not while they are made. */
export interface ClassData {
  /** The whole model. */
  readonly context: VisibleModel;
  readonly executor: ScopeExecutor;
  /** Runs events; none if no dataclass has any. */
  readonly lifecycle: Lifecycle | undefined;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: WriteRestrictions | undefined;
  /** What a session may see; none if nothing is limited. */
  readonly visibleTo: ((session: Session) => VisibleModel) | undefined;
}

/** The parts behind all class code of one server. */
export class ClassHost<Data extends ClassData = ClassData> {
  /** The instance of the user's `DataStore`. */
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
    { registry, scopes, locks, state, logFailure }: ClassParts,
    dataOf: (host: ClassHost) => Data,
  ) {
    this.scopes = scopes;
    this.locks = locks;
    this.afterCommit = new AfterCommit(scopes, logFailure);
    this.exclusive = new ExclusiveWorks(scopes, state);
    this.#classes = registry.dataclasses;
    this.data = dataOf(this);
    const datastore = new registry.datastore(this);
    this.datastore = datastore;
    for (const { name } of this.context.dataclasses.values()) {
      if (registry.dataclasses[name] === undefined) {
        throw new Error(`No classes are given for ${name}.`);
      }
      const get = (): object => this.codeOf(name).instance;
      Object.defineProperty(datastore, name, { get, enumerable: true });
    }
  }

  /**
   * The whole model, whatever a session may see. Its database takes part in the transaction of the
   * calling code.
   */
  get context(): VisibleModel {
    return this.data.context;
  }

  get lifecycle(): Lifecycle | undefined {
    return this.data.lifecycle;
  }

  get restrictions(): WriteRestrictions | undefined {
    return this.data.restrictions;
  }

  /**
   * Made at the first use: a server of many dataclasses starts without.
   * @throws Error for a name that is no dataclass of the model
   */
  codeOf(dataclassName: string): DataclassCode {
    return getOrInsertComputed(this.#codes, dataclassName, () => {
      const dataclass = dataclassIn(this.context, dataclassName);
      const classes = this.#classes[dataclassName] as DataclassClasses;
      // The first caller makes no difference.
      return this.scopes.asServer(() => new DataclassCode(this, dataclass, classes));
    });
  }

  /** Whether sessions may see less than the whole model. */
  get isLimited(): boolean {
    return this.data.visibleTo !== undefined;
  }

  /** What the calling code may see: everything if it is the server's own, or nothing is limited. */
  visible(): VisibleModel {
    const { context, visibleTo } = this.data;
    if (visibleTo === undefined) return context;
    const { isServer, session } = this.scopes.current();
    return isServer === true ? context : visibleTo(session);
  }

  reading(): Reads {
    return this.context.database.executor;
  }

  /**
   * Runs work in a transaction of its own, or behind a savepoint of the calling code's transaction;
   * the code of the work joins it. If the work throws, all of it is undone.
   * @throws TransactionEndedError if the transaction of the code is over
   */
  write<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T> {
    // Code that belongs to no request may be refused.
    this.scopes.current();
    return this.data.executor.writeIn(work);
  }

  /** The same without a savepoint, for work that changes something with its last statement and runs no class code. */
  writeAlone<T>(work: (transaction: TransactionScope) => Promise<T>): Promise<T> {
    const { transaction } = this.scopes.current();
    return transaction === undefined
      ? this.data.executor.writeIn(work)
      : transaction.alone(() => work(transaction));
  }
}

/** The classes of one dataclass, and what makes their instances. */
export class DataclassCode {
  readonly layout: EntityLayout;
  readonly entities: Entities;
  readonly selections: Selections;
  /** The instance of the user's dataclass class: `ds.Company`. */
  readonly instance: object;
  readonly #whole: VisibleDataclass;
  /** Weak, because views are dropped when no session needs them. */
  readonly #visible = new WeakMap<VisibleModel, VisibleDataclass>();

  /** @param dataclass of the whole model */
  constructor(
    readonly host: ClassHost,
    readonly dataclass: Dataclass,
    classes: DataclassClasses,
  ) {
    this.layout = new EntityLayout(dataclass);
    this.#whole = new VisibleDataclass(this, host.context);
    defineAccessors(this, classes.entity, Entity);
    this.entities = new Entities(this, classes.entity);
    this.selections = new Selections(this, classes.selection);
    this.instance = new classes.dataclass(this);
  }

  /** The dataclass as the calling code may see it. Reads use it late: when they run. */
  visible(): VisibleDataclass {
    const model = this.host.visible();
    if (model === this.host.context) return this.#whole;
    return getOrInsertComputed(this.#visible, model, () => new VisibleDataclass(this, model));
  }
}

/** Reads and writes a dataclass as a view sees it; each part is made when it is first needed. */
class VisibleDataclass {
  readonly dataclass: Dataclass;
  #rows: EntityRows | undefined;
  #reader: SelectionReader | undefined;
  #writing: EntityWriting | undefined;

  constructor(
    private readonly code: DataclassCode,
    readonly model: VisibleModel,
  ) {
    this.dataclass = dataclassIn(model, code.dataclass.name);
  }

  get rows(): EntityRows {
    if (this.dataclass === this.code.dataclass) return this.code.entities.allRows;
    return (this.#rows ??= new EntityRows(this.code.host, this.dataclass, this.code.layout));
  }

  get reader(): SelectionReader {
    return (this.#reader ??= new SelectionReader(this.code, this.model));
  }

  get writing(): EntityWriting {
    return (this.#writing ??= new EntityWriting(this.code, this.model));
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

/** Makes the entities of one dataclass, as instances of the user's class. */
class Entities {
  /** Rows of all entities, whoever asks: for the saver, the deleter and events. */
  readonly allRows: EntityRows;
  readonly #defaults: readonly SqlValue[];
  readonly #hasInit: boolean;

  /** @param make the user's class */
  constructor(
    private readonly code: DataclassCode,
    private readonly make: new (state: EntityState) => EntityObject,
  ) {
    this.allRows = new EntityRows(code.host, code.dataclass, code.layout);
    this.#defaults = defaultRow(code);
    this.#hasInit = code.dataclass.events.includes('init');
  }

  /** @param row as {@link EntityLayout.columns} selects it */
  fromRow(row: readonly SqlValue[]): EntityObject {
    return new this.make(new EntityState(this.code, row, false));
  }

  /**
   * A new entity, with the defaults of the model and what its event `init` sets.
   * @throws whatever `init` throws
   */
  create(): EntityObject {
    const entity = new this.make(new EntityState(this.code, this.#defaults, true));
    if (this.#hasInit) initialize(entity, this.code.dataclass.name);
    return entity;
  }

  /**
   * One entity that the calling code may read.
   * @param key in any case
   * @throws PermissionError, as all reads of class code
   */
  async load(key: string | number): Promise<EntityObject | undefined> {
    const row = await this.readRow(key);
    return row === undefined ? undefined : this.fromRow(row);
  }

  /**
   * The same by a value in stored form.
   * @param attribute the name of a unique one; the key if it is left out
   */
  async loadBy(
    attribute: string | undefined,
    value: string | number,
  ): Promise<EntityObject | undefined> {
    if (attribute === undefined) return this.load(value);
    const row = await this.#readable().byUnique(attribute, value);
    return row === undefined ? undefined : this.fromRow(row);
  }

  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  async loadAll(
    keys: readonly (string | number)[],
  ): Promise<readonly (EntityObject | undefined)[]> {
    const rows = await this.#readable().byKeys(keys);
    return rows.map((row) => (row === undefined ? undefined : this.fromRow(row)));
  }

  async readRow(key: string | number): Promise<readonly SqlValue[] | undefined> {
    return this.#readable().byKey(key);
  }

  /** @throws PermissionError */
  #readable(): EntityRows {
    const { dataclass, rows } = this.code.visible();
    requireReadInCode(dataclass);
    return rows;
  }
}

/**
 * The row of an entity that is not saved yet: the defaults of the model, null for anything else.
 */
function defaultRow({ layout }: DataclassCode): readonly SqlValue[] {
  const row: SqlValue[] = new Array<SqlValue>(layout.width).fill(null);
  row[0] = 0;
  for (const { attribute, index } of layout.fields) {
    if (attribute.kind !== 'storage' || attribute.default === undefined) continue;
    const result = storedValue(attribute, attribute.default);
    if (result.ok) row[index] = result.value;
  }
  return row;
}

/** Makes the lazy selections of one dataclass, as instances of the user's class. */
class Selections {
  /** @param make the user's class */
  constructor(
    private readonly code: DataclassCode,
    private readonly make: new (state: SelectionState) => object,
  ) {
    defineSelectionRelations(code.dataclass, make);
  }

  all(): object {
    return this.of(allOf(this.code.dataclass));
  }

  query(filter: string, values: readonly unknown[]): object {
    return this.of(queried(this.code, allOf(this.code.dataclass), filter, values));
  }

  /** A list in memory, without entities. */
  none(): object {
    return this.#make(new HeldEntities(this.code.dataclass));
  }

  fromKeys(keys: Iterable<string | number>): object {
    const { dataclass } = this.code;
    const type = dataclass.key.type as KeyType;
    const stored = [...keys].flatMap((key) => decodeKey(type, String(key)) ?? []);
    return this.of(listed(dataclass, keysOf(type, stored)));
  }

  /**
   * The entities to which a to-many relation of another entity leads.
   * @param relation leads from `owner` to this dataclass
   * @param key of the other entity; `null` for one that is not saved
   */
  related(owner: Dataclass, relation: ToManyDefinition, key: string | number | null): object {
    if (key === null) return this.fromKeys([]);
    return this.of(reachedFrom(entityOf(owner, key), relation));
  }

  of(node: SelectionNode): object {
    return this.#make(node);
  }

  #make(content: SelectionState['content']): object {
    return new this.make({ code: this.code, content });
  }
}

/**
 * Adds the relations of a dataclass to its selections, once: to the prototype of the emitted base
 * class. They know the model and no server: several may run in one process.
 */
function defineSelectionRelations(
  dataclass: Dataclass,
  userClass: { readonly prototype: object },
): void {
  const prototype = prototypeBelow(userClass.prototype, EntitySelection.prototype);
  for (const attribute of dataclass.attributes) {
    const { name } = attribute;
    const member = memberName(attribute);
    if (!isRelation(attribute) || Object.hasOwn(prototype, member)) continue;
    Object.defineProperty(prototype, member, {
      get(this: object) {
        return relatedSelection(this, name);
      },
      enumerable: true,
      configurable: true,
    });
  }
}

/** The entities to which a relation leads from those of a selection, each once. */
function relatedSelection(selection: object, name: string): object {
  const state = selectionOf(selection);
  const relation = state.code.dataclass.allAttributes.get(name);
  if (relation === undefined || !isRelation(relation)) {
    throw new Error(`${name} is no relation.`);
  }
  const { selections } = state.code.host.codeOf(relation.target);
  return selections.of(reachedFrom(nodeOf(state), relation));
}

/** Keys that one statement reads; their list is one value. */
const keysPerStatement = 10_000;

type EntityRow = readonly SqlValue[];

/**
 * Reads the rows of entities by their keys. A row holds every value of the layout, whatever the
 * session may read: properties are synchronous, and promoted code may read more, so privileges are
 * checked then (`EntityState.get`).
 */
class EntityRows {
  readonly #byKey: Statement;
  readonly #byKeys: Statement;
  readonly #byUnique = new Map<string, Statement>();

  /** @param dataclass of the entities; that of the layout, or a view of it */
  constructor(
    private readonly host: ClassHost,
    private readonly dataclass: Dataclass,
    private readonly layout: EntityLayout,
  ) {
    const { dialect } = host.context.database;
    const one = new From(new Aliases(), dataclass, 'table');
    const oneColumns = sql.join(layout.columns(dialect, one));
    const { byKey } = dataclass.queries;
    this.#byKey = dialect.compile(
      byKey(dialect.db, sql`${new Slot(0)}`, one.selecting(oneColumns)),
    );
    const list = dialect.each(sql`${new Slot(0)}`, valueTypeOf(dataclass.key.type));
    const many = new From(new Aliases(), dataclass, { list });
    const manyColumns = sql.join(layout.columns(dialect, many));
    this.#byKeys = dialect.compile(sql`select ${manyColumns} ${many.clause}${many.order}`);
  }

  /** @param key in any case; no entity has a key that is impossible for the type */
  async byKey(key: string | number): Promise<EntityRow | undefined> {
    const stored = decodeKey(this.dataclass.key.type, String(key));
    if (stored === undefined) return undefined;
    const { dialect } = this.host.context.database;
    const value = comparableKey(this.dataclass, dialect, stored);
    const [row] = await this.host.reading().rows(this.#byKey, [value]);
    return row;
  }

  /**
   * @param name of a unique attribute
   * @param value in stored form, a text in any case
   */
  async byUnique(name: string, value: string | number): Promise<EntityRow | undefined> {
    const { dialect } = this.host.context.database;
    const statement = getOrInsertComputed(this.#byUnique, name, () => {
      const from = new From(new Aliases(), this.dataclass, 'table');
      const query = queryOf(this.dataclass.queries.by, name);
      if (query === undefined) throw new Error(`${this.dataclass.name} has no query for ${name}.`);
      const columns = sql.join(this.layout.columns(dialect, from));
      return dialect.compile(query(dialect.db, sql`${new Slot(0)}`, from.selecting(columns)));
    });
    const attribute = this.dataclass.allAttributes.get(name);
    const isText = attribute?.kind === 'storage' && attribute.type === 'string';
    const compared = isText ? dialect.foldText(String(value)) : value;
    const [row] = await this.host.reading().rows(statement, [compared]);
    return row;
  }

  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  async byKeys(keys: readonly (string | number)[]): Promise<readonly (EntityRow | undefined)[]> {
    const rows: (EntityRow | undefined)[] = [];
    for (let start = 0; start < keys.length; start += keysPerStatement) {
      const list = JSON.stringify(keys.slice(start, start + keysPerStatement));
      for (const row of await this.host.reading().rows(this.#byKeys, [list])) {
        // A stamp is never null: this key has no entity.
        rows.push(row[0] === null ? undefined : row);
      }
    }
    return rows;
  }
}
