import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { Fold } from '../protocol/fold.js';
import { errorCodes } from '../protocol/errors.js';
import { isWellFormed } from '../protocol/well-formed.js';
import { addressOf } from './address.js';
import { EntityCreator } from './create.js';
import type { Body } from './decoded.js';
import type { Refusal, Refusals } from './refusals.js';
import type { SaveOptions, SaveResult } from './save-options.js';
import { isSettable } from './settable.js';
import { SaveTools } from './save-tools.js';
import type { EventedSaving, Surroundings } from './surroundings.js';
import { EntityUpdater } from './update.js';

/** Creates or changes entities of one dataclass: `__KEY` and `__STAMP` tell which (protocol section 11.2). */
export class EntitySaver {
  readonly #creator: EntityCreator;
  readonly #updater: EntityUpdater;
  readonly #tools: SaveTools;
  readonly #locks: LockTable | undefined;
  readonly #evented: EventedSaving | undefined;
  /** Locks the entities of a list of keys; none where the database locks no rows. */
  readonly #lock: Statement | undefined;
  readonly #foldText: Fold;
  /** Names of attributes that setters of class code take. */
  readonly #settable: readonly string[];

  /** @param statements where those that change entities are kept */
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
      lockOf: (key, options) => this.#lockOf(key, options),
      store: (...given) => this.#store(...given),
    });
  }

  get refusals(): Refusals {
    return this.#tools.refusals;
  }

  /**
   * Locks the entities that a list changes, where the database can lock some: two lists in opposite orders would wait for each
   * other.
   */
  lock(transaction: Transaction, bodies: readonly Body[]): Pending<void> {
    if (this.#lock === undefined) return undefined;
    const keys = bodies.flatMap((body) => {
      const address = addressOf(this.dataclass, this.#tools.refusals, body);
      if ('problems' in address || address.stamp === undefined) return [];
      const { key } = address;
      if (typeof key !== 'string' || this.dataclass.key.type !== 'string') return [key];
      // The database's JSON holds no such text, and neither does a key.
      return isWellFormed(key) && !key.includes('\0') ? [this.#foldText(key)] : [];
    });
    if (keys.length < 2) return undefined;
    return whenThere(transaction.value(this.#lock, [JSON.stringify(keys)]), () => undefined);
  }

  /**
   * Saves one entity, or tells everything that is wrong with it; the transaction goes on either way. Events run around the
   * save where the dataclass declares some; what they stored is undone when the entity is refused.
   * @throws whatever an event throws when class code saves; for a client it is a refusal
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

  /** Class code never sends such an attribute: it has used the setter itself. */
  #isForSetter(body: Body): boolean {
    return this.#settable.some((name) => Object.hasOwn(body, name));
  }

  /** What the session may do with no entity of the dataclass is refused before anything is read. */
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
    const lock = this.#lockOf(key, options);
    if (lock === undefined) return this.#change(transaction, key, stamp, body, options);
    return whenThere(this.#updater.stampOf(transaction, key), (current) =>
      current === undefined
        ? this.#change(transaction, key, stamp, body, options)
        : refusals.locked(key, lock),
    );
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

  /** An entity whose key alone is sent is created with it, and never overwritten. */
  #storeNew(
    transaction: Transaction,
    key: string | number | undefined,
    body: Body,
    options: SaveOptions,
  ): Pending<SaveResult> {
    if (key === undefined) return this.#create(transaction, body, options);
    const refusal = (stamp: number): Refusal => {
      const lock = this.#lockOf(key, options);
      const { refusals } = this.#tools;
      return lock === undefined
        ? refusals.stampChanged(key, undefined, stamp)
        : refusals.locked(key, lock);
    };
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
    // A number that is not drawn has no part in what is checked.
    return { key: key ?? '', outcome: 'created', values: result.values };
  }

  /** The lock of another session. What is only computed needs none. */
  #lockOf(
    key: string | number,
    { isKept, session }: SaveOptions,
  ): ReturnType<LockTable['refusal']> {
    if (this.#locks === undefined || this.#locks.size === 0 || !isKept) return undefined;
    return this.#locks.refusal(this.dataclass.name, key, session);
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
