import { sql, type AliasedExpression } from 'kysely';
import type { LockTable } from '../access/locks.js';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import { type Transaction, ConstraintError } from '../dialect/executor.js';
import { type Pending, whenThere, caught } from '../dialect/pending.js';
import { Slot, type Statement, type SqlValue } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { Fold } from '../protocol/fold.js';
import { errorCodes } from '../protocol/errors.js';
import { isWellFormed } from '../protocol/own-text.js';
import { addressOf, decodeNewEntity } from './decode.js';
import { type Body, isSettable, type Author, type Decoded } from './decoded.js';
import type { Refusal, Refusals } from './refusals.js';
import { SaveTools } from './save-tools.js';
import type { EventedSaving, Surroundings, SaveOptions, SaveResult } from './surroundings.js';
import { EntityUpdater } from './update.js';
import type { StoredValue } from '../protocol/values.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { derivedColumns } from './derived-columns.js';

/**
 * Creates or changes entities of one dataclass, as `__KEY` and `__STAMP` say (protocol P7.1,
 * P7.12).
 */
export class EntitySaver {
  readonly #creator: EntityCreator;
  readonly #updater: EntityUpdater;
  readonly #tools: SaveTools;
  readonly #locks: LockTable | undefined;
  readonly #evented: EventedSaving | undefined;
  /** Locks the entities of a list of keys; none if the database locks no rows. */
  readonly #lock: Statement | undefined;
  readonly #foldText: Fold;
  /** Names of attributes with setters of class code. */
  readonly #settable: readonly string[];

  /** @param statements the cache of statements that change entities */
  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
    statements: BoundedCache<Statement>,
    { lifecycle, locks }: Surroundings = {},
  ) {
    this.#tools = new SaveTools(dialect, dataclass);
    this.#creator = new EntityCreator(dialect, dataclass, this.#tools);
    this.#updater = new EntityUpdater(dialect, dataclass, this.#tools, statements);
    this.#lock = planLock(dialect, dataclass);
    this.#foldText = dialect.foldText;
    this.#locks = locks;
    this.#settable = dataclass.attributes.filter(isSettable).map(({ name }) => name);
    this.#evented = lifecycle?.saving({
      dataclass,
      fold: dialect.foldText,
      refusals: this.#tools.refusals,
      updater: this.#updater,
      lockOf: (...given) => this.#lockOf(...given),
      store: (...given) => this.#store(...given),
    });
  }

  get refusals(): Refusals {
    return this.#tools.refusals;
  }

  /**
   * Locks the entities that a list changes, if the database can lock rows: two lists in opposite
   * orders would wait for each other.
   */
  lock(transaction: Transaction, bodies: readonly Body[]): Pending<void> {
    if (this.#lock === undefined) return undefined;
    const keys = bodies.flatMap((body) => {
      const address = addressOf(this.dataclass, this.#tools.refusals, body);
      if ('problems' in address || address.stamp === undefined) return [];
      const { key } = address;
      if (typeof key !== 'string' || this.dataclass.key.type !== 'string') return [key];
      // The database's JSON cannot contain such a text, and neither can a key.
      return isWellFormed(key) && !key.includes('\0') ? [this.#foldText(key)] : [];
    });
    if (keys.length < 2) return undefined;
    return whenThere(transaction.value(this.#lock, [JSON.stringify(keys)]), () => undefined);
  }

  /**
   * Saves one entity, or reports everything that is wrong with it; the transaction continues either
   * way. Events run around the save if the dataclass declares some; what they stored is rolled back
   * if the entity is refused.
   * @throws whatever an event throws if class code saves; for a client it is a refusal
   */
  save(transaction: Transaction, body: Body, options: SaveOptions): Pending<SaveResult> {
    const denial = this.#denial(body);
    if (denial !== undefined) return denial;
    const evented = this.#evented;
    if (evented !== undefined && ((evented.hasEvents && options.isKept) || this.#isForSetter(body)))
      return evented.save(body, options);
    const { live } = options;
    const stored = this.#store(transaction, body, options);
    return live === undefined
      ? stored
      : whenThere(stored, (result) =>
          'problems' in result ? result : live.takeOver(result.key).then(() => result),
        );
  }

  /** Whether class code takes part in the save of some entity. */
  get mayRunCode(): boolean {
    return this.#evented !== undefined;
  }

  /** Whether class code takes part in the save of an entity. */
  runsCode(body: Body): boolean {
    return this.#evented?.hasEvents === true || this.#isForSetter(body);
  }

  /** Class code never sends such an attribute: it has called the setter itself. */
  #isForSetter(body: Body): boolean {
    return this.#settable.some((name) => Object.hasOwn(body, name));
  }

  /**
   * An action that the session may not do with any entity of the dataclass is refused before
   * anything is read.
   */
  #denial({ __STAMP: stamp = null }: Body): Refusal | undefined {
    const { permissions } = this.dataclass;
    const action = stamp === null ? 'create' : 'update';
    if (permissions === undefined || permissions[action]) return undefined;
    return this.#tools.refusals.denied(action, permissions.status);
  }

  #store(transaction: Transaction, body: Body, options: SaveOptions): Pending<SaveResult> {
    const { refusals } = this.#tools;
    const address = addressOf(this.dataclass, refusals, body);
    if ('problems' in address) return address;
    const { key, stamp } = address;
    if (key === undefined || stamp === undefined) {
      return this.#storeNew(transaction, key, body, options);
    }
    const lock = whenThere(this.#hold(transaction, key, options), () =>
      this.#lockOf(key, options, transaction),
    );
    return whenThere(lock, (held) => {
      if (held === undefined) return this.#change(transaction, key, stamp, body, options);
      return whenThere(this.#updater.stampOf(transaction, key), (current) =>
        current === undefined
          ? this.#change(transaction, key, stamp, body, options)
          : refusals.locked(key, held),
      );
    });
  }

  /**
   * Locks the row of an entity before somebody asks for its lock, if another server may give the
   * lock at any moment: see `DatabaseLockTable`.
   */
  #hold(
    transaction: Transaction,
    key: string | number,
    { isKept, isOnlyRead }: SaveOptions,
  ): Pending<void> {
    if (this.#locks?.isShared !== true || !isKept || isOnlyRead === true) return undefined;
    return lockRow(this.#lock, transaction, this.#comparable(key));
  }

  #comparable(key: string | number): string | number {
    return typeof key === 'string' && this.dataclass.key.type === 'string'
      ? this.#foldText(key)
      : key;
  }

  #change(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    body: Body,
    options: SaveOptions,
  ): Pending<SaveResult> {
    if (options.isOnlyRead === true) {
      const checked = this.#updater.check(transaction, key, stamp, body, options);
      return checked.then((result) =>
        'problems' in result ? result : { key, outcome: 'changed', values: result.values },
      );
    }
    const timestamp = options.isKept ? options.timestamp : undefined;
    const updated = this.#updater.update(transaction, key, stamp, body, timestamp, options);
    return whenThere(updated, (result) =>
      'problems' in result
        ? result
        : { key, outcome: result.isChange ? ('changed' as const) : ('unchanged' as const) },
    );
  }

  /** If only its key is sent, an entity is created with it, and never overwritten. */
  #storeNew(
    transaction: Transaction,
    key: string | number | undefined,
    body: Body,
    options: SaveOptions,
  ): Pending<SaveResult> {
    if (key === undefined) return this.#create(transaction, body, options);
    const refusal = (stamp: number): Pending<Refusal> =>
      whenThere(this.#lockOf(key, options, transaction), (lock) => {
        const { refusals } = this.#tools;
        return lock === undefined
          ? refusals.stampChanged(key, undefined, stamp)
          : refusals.locked(key, lock);
      });
    const stampOf = (): Pending<number | undefined> => this.#updater.stampOf(transaction, key);
    return whenThere(stampOf(), (stamp) => {
      if (stamp !== undefined) return refusal(stamp);
      return whenThere(this.#create(transaction, body, options), (result) => {
        if (!('problems' in result) || result.status !== errorCodes.stampChanged.status) {
          return result;
        }
        // Another transaction may have created the entity meanwhile.
        return whenThere(stampOf(), (now) => (now === undefined ? result : refusal(now)));
      });
    });
  }

  #create(transaction: Transaction, body: Body, options: SaveOptions): Pending<SaveResult> {
    if (options.isOnlyRead === true) return this.#checkNew(transaction, body, options);
    return whenThere(this.#creator.create(transaction, body, options), (result) =>
      'problems' in result ? result : { key: result.key, outcome: 'created' as const },
    );
  }

  async #checkNew(transaction: Transaction, body: Body, options: SaveOptions): Promise<SaveResult> {
    const result = await this.#creator.check(transaction, body, options);
    if ('problems' in result) return result;
    const key = result.values.get(this.dataclass.key.name) as string | number | null;
    // A number that is not drawn yet is not checked.
    return { key: key ?? '', outcome: 'created', values: result.values };
  }

  /** The lock of another session. What is only computed needs no check. */
  #lockOf(
    key: string | number,
    { isKept, session }: SaveOptions,
    transaction: Transaction,
  ): ReturnType<LockTable['refusal']> {
    if (this.#locks === undefined || this.#locks.isEmpty || !isKept) return undefined;
    return this.#locks.refusal(this.dataclass.name, key, session, transaction);
  }
}

/** Locks a row; nothing happens in a database that locks no rows, where one transaction writes. */
function lockRow(
  lock: Statement | undefined,
  transaction: Transaction,
  key: string | number,
): Pending<void> {
  const isImpossible = typeof key === 'string' && (!isWellFormed(key) || key.includes('\0'));
  if (lock === undefined || isImpossible) return undefined;
  return whenThere(transaction.value(lock, [JSON.stringify([key])]), () => undefined);
}

/**
 * Waits for all that are changing an entity, before a client hears of its lock: see
 * `DatabaseLockTable`.
 */
export class LockFence {
  readonly #lock: Statement | undefined;
  readonly #isText: boolean;
  readonly #fold: Fold;

  constructor(dialect: Dialect, dataclass: Dataclass) {
    this.#lock = planLock(dialect, dataclass);
    this.#isText = dataclass.key.type === 'string';
    this.#fold = dialect.foldText;
  }

  /** @param transaction that nobody needs afterwards, or that of the code that locks the entity */
  pass(transaction: Transaction, key: string | number): Pending<void> {
    const isText = typeof key === 'string' && this.#isText;
    return lockRow(this.#lock, transaction, isText ? this.#fold(key) : key);
  }
}

function planLock(dialect: Dialect, dataclass: Dataclass): Statement | undefined {
  if (dialect.lockRows === undefined) return undefined;
  const from = new From(new Aliases(), dataclass);
  const { key } = dataclass;
  const comparable = comparableColumn(dialect, from.root, key);
  const isNamed = dialect.isIn(comparable, sql`${new Slot(0)}`, valueTypeOf(key.type));
  const lock = dialect.lockRows(from.root.alias, keyColumn(from.root), 'change');
  const rows = sql`select 1 ${from.clause} where ${isNamed}${lock}`;
  return dialect.compile(sql`select count(*) from (${rows}) as "locked"`);
}

interface Created {
  readonly key: string | number;
}

/** Stores new entities of one dataclass. */
class EntityCreator {
  readonly #insert: InsertPlan;

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly tools: SaveTools,
  ) {
    this.#insert = planInsert(dialect, dataclass);
  }

  /**
   * Stores one entity, or reports everything that is wrong with it; the transaction continues
   * either way.
   * @returns its key as it is stored, or why it was not
   */
  create(
    transaction: Transaction,
    body: Body,
    options: Author & { readonly timestamp: string },
  ): Pending<Created | Refusal> {
    const { relations, sequences, refusals } = this.tools;
    const decoded = decodeNewEntity(this.dataclass, body, options);
    const { values, problems } = decoded;
    const given = sequences.given(values);
    return whenThere(relations.resolve(transaction, values), ({ length: unknown }) => {
      if (unknown > 0 || problems.length > 0) return this.#faulty(transaction, decoded);
      return whenThere(sequences.draw(transaction, values), (ended) =>
        ended === undefined
          ? this.#store(transaction, decoded, given, options.timestamp)
          : refusals.sequenceEnded(ended),
      );
    });
  }

  /**
   * Reports everything that {@link create} would find wrong, by reads only.
   * @returns what would be stored, or why it would not
   */
  async check(
    transaction: Transaction,
    body: Body,
    author: Author,
  ): Promise<Pick<Decoded, 'values'> | Refusal> {
    const { relations, sequences, refusals } = this.tools;
    const decoded = decodeNewEntity(this.dataclass, body, author);
    const { values, problems } = decoded;
    await relations.resolve(transaction, values);
    const faults = await this.tools.faults(transaction, decoded);
    if (problems.length + faults.missing.length + faults.taken.length > 0) {
      return { ...refusals.faulty(faults), values };
    }
    const ended = await sequences.ended(transaction, values);
    return ended === undefined ? { values } : refusals.sequenceEnded(ended);
  }

  #store(
    transaction: Transaction,
    decoded: Decoded,
    given: ReadonlyMap<string, StoredValue>,
    timestamp: string,
  ): Pending<Created | Refusal> {
    const { values } = decoded;
    return caught(
      () => {
        const bound = this.#insert.values(values, timestamp);
        const stored = transaction.run(this.#insert.statement, bound);
        return whenThere(stored, ({ insertedKey }): Pending<Created | Refusal> => {
          const key = values.get(this.dataclass.key.name) as string | number | null | undefined;
          const created = { key: key ?? insertedKey };
          return whenThere(this.tools.sequences.raise(transaction, given), () => created);
        });
      },
      (error) => {
        if (!(error instanceof ConstraintError)) throw error;
        return this.#refused(transaction, error, decoded);
      },
    );
  }

  async #refused(
    transaction: Transaction,
    error: ConstraintError,
    decoded: Decoded,
  ): Promise<Refusal> {
    const { key } = this.dataclass;
    const isDrawn = key.generated === 'sequence' && (decoded.values.get(key.name) ?? null) === null;
    // Rules of the model were checked before: the database refuses a number that it drew itself.
    if (error.kind !== 'check' || !isDrawn) {
      return this.tools.refusedByDatabase(transaction, error, decoded);
    }
    const faults = await this.tools.faults(transaction, decoded);
    const { refusals } = this.tools;
    return faults.missing.length + faults.taken.length > 0
      ? refusals.faulty(faults)
      : refusals.sequenceEnded(key);
  }

  async #faulty(transaction: Transaction, decoded: Decoded): Promise<Refusal> {
    return this.tools.refusals.faulty(await this.tools.faults(transaction, decoded));
  }
}

/** How to store a dataclass's new entities: one statement for all of them. */
interface InsertPlan {
  readonly statement: Statement;
  /** The values to bind for an entity that is created at `timestamp`. */
  readonly values: (entity: ReadonlyMap<string, StoredValue>, timestamp: string) => SqlValue[];
}

function planInsert(dialect: Dialect, dataclass: Dataclass): InsertPlan {
  const stored = dataclass.attributes.filter(
    (each): each is StorageDefinition => each.kind === 'storage',
  );
  const derived = stored.flatMap((each) => derivedColumns(each, dialect) ?? []);
  const columns = [
    ...stored.map((each) => each.column),
    ...derived.flatMap((each) => each.columns),
    '__STAMP',
    '__TIMESTAMP',
  ];
  const { key } = dataclass;
  const isDrawn = key.generated === 'sequence';
  const row = columns.map((name, index) => {
    const slot = sql`${new Slot(index)}`;
    const isDrawnKey = isDrawn && name === key.column;
    return [name, isDrawnKey ? dialect.insertedKey(slot, dataclass.table, name) : slot] as const;
  });
  const insert = dataclass.queries.insert(dialect.db, Object.fromEntries(row));
  return {
    statement: dialect.compile(
      isDrawn && dialect.returnsKey ? insert.returning(keyAlone(key)) : insert,
    ),
    values: (entity, timestamp) => [
      ...stored.map((each) => entity.get(each.name) ?? null),
      ...derived.flatMap((each) => each.derive(entity.get(each.attribute) ?? null)),
      1,
      timestamp,
    ],
  };
}

function keyAlone({ column }: StorageDefinition): AliasedExpression<unknown, string> {
  return sql.id(column).as(column);
}
