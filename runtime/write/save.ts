import { sql, type AliasedExpression } from 'kysely';
import type { LockTable } from '../access/locks.js';
import { boundValue, comparableColumn, comparableKey } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import { openedInsert } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { type Transaction, ConstraintError, LockedRowError } from '../dialect/executor.js';
import { type Pending, whenThere, caught } from '../dialect/pending.js';
import { Slot, type Statement, type SqlValue } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { Fold } from '../protocol/fold.js';
import { errorCodes } from '../protocol/errors.js';
import { isWellFormed } from '../protocol/own-text.js';
import { Constraints } from './constraints.js';
import {
  type Address,
  addressOf,
  type Body,
  decodeBody,
  type Decoded,
  decodeStored,
  isSettable,
  nothingReferred,
  type ReferredValues,
  relatedTo,
} from './decode.js';
import type { LiveEntity } from './lifecycle.js';
import { hasFaults, type Refusal, type Refusals } from './refusals.js';
import { RowCheck } from './row-check.js';
import type { EventedSaving, Surroundings, EntitySaveOptions, SaveResult } from './surroundings.js';
import { type BoundStatement, EntityUpdater, type PlanDirect } from './update.js';
import type { StoredValue } from '../protocol/values.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { derivedColumns } from './derived-columns.js';

/** A client's body, and which entity it names, or why it can name none. */
export interface SentEntity {
  readonly body: Body;
  readonly address: Address | Refusal;
  /** What the body says, if it was decoded before its save. */
  readonly decoded?: Decoded | undefined;
}

/** Whether a body asks for a new entity without naming its key by `__KEY`. */
export function isCreation({ address }: SentEntity): boolean {
  return !('problems' in address) && address.key === undefined && address.stamp === undefined;
}

/**
 * Creates or changes entities of one dataclass (protocol P7.1, P7.12). What a client sends, and what
 * class code saves, goes the same way: decoded once, checked, stored by one statement. If the
 * database refuses it, further statements find the reasons. Events of class code are steps between
 * the first two.
 */
export class EntitySaver {
  readonly #creator: EntityCreator;
  readonly updater: EntityUpdater;
  readonly #constraints: Constraints;
  readonly #locks: LockTable | undefined;
  readonly #evented: EventedSaving | undefined;
  /** `undefined` if sessions may store what they cannot see. */
  readonly rowCheck: RowCheck | undefined;
  /** Locks the entities of a list of keys; none if the database locks no rows. */
  readonly #lock: Statement | undefined;
  readonly fold: Fold;
  /** Names of attributes with setters of class code. */
  readonly #settable: readonly string[];

  /** @param statements the cache of statements that change entities */
  constructor(
    dialect: Dialect,
    readonly dataclass: Dataclass,
    statements: BoundedCache<Statement>,
    surroundings: Surroundings = {},
  ) {
    const { lifecycle, locks } = surroundings;
    this.#constraints = new Constraints(dialect, dataclass, statements);
    this.#creator = new EntityCreator(dialect, dataclass, this.#constraints);
    const updating = [this.#constraints, statements, locks?.guard] as const;
    this.updater = new EntityUpdater(dialect, dataclass, ...updating);
    this.#lock = planLock(dialect, dataclass);
    this.fold = dialect.foldText;
    this.#locks = locks;
    this.rowCheck = RowCheck.of(dataclass, this.updater, surroundings);
    this.#settable = dataclass.attributes.filter(isSettable).map(({ name }) => name);
    this.#evented = lifecycle?.saving(this);
  }

  get refusals(): Refusals {
    return this.#constraints.refusals;
  }

  /**
   * Reads which entity a body names. An action that the session may not do with any entity of the
   * dataclass is refused before anything else is read.
   */
  sent(body: Body): SentEntity {
    const { __STAMP: stamp = null } = body;
    const address =
      this.#denial(stamp === null ? 'create' : 'update') ??
      addressOf(this.dataclass, this.refusals, body);
    return { body, address };
  }

  /**
   * The same for an entity in the list of a to-many relation.
   * @param relation the other side of that relation
   * @param owner key of the entity that has the list
   */
  related(sent: SentEntity, relation: RelatedEntityDefinition, owner: string | number): SentEntity {
    if ('problems' in sent.address) return sent;
    const { dataclass, refusals } = this;
    const target = dataclass.target(relation);
    const body = relatedTo(sent.body, relation, owner, target, this.fold);
    if (body !== undefined) return { body, address: sent.address, decoded: undefined };
    return { body: sent.body, address: refusals.otherOwner(relation) };
  }

  /**
   * Locks the entities that a list changes, if the database can lock rows: two lists in opposite
   * orders would wait for each other.
   */
  lock(transaction: Transaction, entities: readonly SentEntity[]): Pending<void> {
    if (this.#lock === undefined) return undefined;
    const keys = entities.flatMap(({ address }) => {
      if ('problems' in address || address.stamp === undefined) return [];
      const { key } = address;
      if (typeof key !== 'string' || this.dataclass.key.type !== 'string') return [key];
      // The database's JSON cannot contain such a text, and neither can a key.
      return isWellFormed(key) && !key.includes('\0') ? [this.fold(key)] : [];
    });
    if (keys.length < 2) return undefined;
    return whenThere(transaction.value(this.#lock, [JSON.stringify(keys)]), () => undefined);
  }

  /**
   * Saves one entity of a client, or reports everything that is wrong with it; the transaction
   * continues either way. What events stored is rolled back if the entity is refused.
   */
  save(
    transaction: Transaction,
    { body, address, decoded }: SentEntity,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    if ('problems' in address) return address;
    const evented = this.#evented;
    const hasEvents = evented?.hasEvents === true && options.mode !== 'preview';
    if (evented !== undefined && (hasEvents || this.#isForSetter(body))) {
      return evented.saveBody({ body, address }, options);
    }
    if (decoded !== undefined) return this.store(transaction, address, decoded.copy(), options);
    return whenThere(this.referred(transaction, body), (referred) =>
      this.store(transaction, address, this.#decoded(body, address, referred), options),
    );
  }

  /**
   * Decodes a body before its save, if that takes no read. The save can then be repeated, and made
   * in several ways, without decoding the body again.
   */
  decode<T extends SentEntity>(sent: T): T {
    const { body, address } = sent;
    if ('problems' in address || this.#constraints.relations.mustRefer(body)) return sent;
    return { ...sent, decoded: this.#decoded(body, address, nothingReferred) };
  }

  #decoded(body: Body, { key, stamp }: Address, referred: ReferredValues): Decoded {
    const existing =
      key === undefined || stamp === undefined ? undefined : { key, fold: this.fold };
    return decodeBody(this.dataclass, body, existing, referred).checked();
  }

  /** What the relations of a body reference whose foreign keys do not hold the related key. */
  referred(transaction: Transaction, body: Body): Pending<ReferredValues> {
    return this.#constraints.relations.referred(transaction, body);
  }

  /**
   * Saves an object of class code, which takes over what is stored.
   * @throws whatever an event throws
   */
  async saveLive(
    transaction: Transaction,
    entity: LiveEntity,
    options: EntitySaveOptions,
  ): Promise<SaveResult> {
    const denial = this.#denial(entity.isNew ? 'create' : 'update');
    if (denial !== undefined) return denial;
    if (this.#evented?.hasEvents === true) return this.#evented.saveLive(entity, options);
    const result = await this.storeLive(transaction, entity, options);
    if (!('problems' in result)) await entity.takeOver(result.key);
    return result;
  }

  /**
   * The one statement that stores decoded entities.
   * @returns none if they need more than one statement, or cannot be stored
   */
  direct(
    entities: readonly SentEntity[],
    options: EntitySaveOptions,
    plan: PlanDirect,
  ): DirectSave | undefined {
    const [first] = entities;
    if (first === undefined || this.rowCheck !== undefined) return undefined;
    return entities.length === 1 && !isCreation(first)
      ? this.#directChange(first, options, plan)
      : this.#directCreation(entities, options, plan);
  }

  #directChange(
    { address, decoded }: SentEntity,
    { timestamp, session }: EntitySaveOptions,
    plan: PlanDirect,
  ): DirectSave | undefined {
    if (decoded === undefined || 'problems' in address || !this.#isUnlocked) return undefined;
    const { key, stamp } = address;
    if (key === undefined || stamp === undefined) return undefined;
    return this.updater.direct(key, stamp, decoded, { timestamp, session }, plan);
  }

  #directCreation(
    entities: readonly SentEntity[],
    { timestamp }: EntitySaveOptions,
    plan: PlanDirect,
  ): DirectSave | undefined {
    const all: Decoded[] = [];
    for (const each of entities) {
      const { decoded } = each;
      if (decoded === undefined || !isCreation(each)) return undefined;
      if (!this.#constraints.isOneStatement(decoded)) return undefined;
      all.push(decoded);
    }
    return this.#creator.direct(all, timestamp, plan);
  }

  /** Whether no session has locked an entity, or the statement of a change finds out. */
  get #isUnlocked(): boolean {
    return this.#locks === undefined || this.#locks.isEmpty || this.#locks.guard !== undefined;
  }

  /** Whether class code takes part in the save of an entity. */
  runsCode(body: Body): boolean {
    const evented = this.#evented;
    return evented !== undefined && (evented.hasEvents || this.#isForSetter(body));
  }

  /** Class code never sends such an attribute: it has called the setter itself. */
  #isForSetter(body: Body): boolean {
    return this.#settable.some((name) => Object.hasOwn(body, name));
  }

  #denial(action: 'create' | 'update'): Refusal | undefined {
    const { permissions } = this.dataclass;
    if (permissions === undefined || permissions[action]) return undefined;
    return this.refusals.denied(action, permissions.status);
  }

  /** Stores what class code has set in its object. */
  storeLive(
    transaction: Transaction,
    entity: LiveEntity,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    const { isNew, key, stamp, granted } = entity;
    const address = isNew ? { key: undefined, stamp: undefined } : { key, stamp };
    const existing = isNew || key === undefined ? undefined : { key, fold: this.fold };
    const decoded = decodeStored(this.dataclass, entity.changes(), existing, granted).checked();
    return this.store(transaction, address, decoded, options);
  }

  /**
   * Stores decoded values, or reports everything that is wrong with them. Whatever saves an entity
   * comes here, so this is where `restrict` decides about what is stored.
   */
  store(
    transaction: Transaction,
    address: Address,
    decoded: Decoded,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    const store = (): Pending<SaveResult> => this.#store(transaction, address, decoded, options);
    const { rowCheck } = this;
    if (rowCheck === undefined || options.mode === 'preview') return store();
    return whenThere(rowCheck.isNeeded, (isNeeded) =>
      isNeeded ? rowCheck.checked(transaction, options, store) : store(),
    );
  }

  #store(
    transaction: Transaction,
    { key, stamp }: Address,
    decoded: Decoded,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    if (key === undefined || stamp === undefined) {
      return this.#storeNew(transaction, key, decoded, options);
    }
    const { mode } = options;
    if (this.#locks?.guard !== undefined && mode !== 'preview') {
      return this.#changeGuarded(transaction, key, stamp, decoded, options);
    }
    return whenThere(
      this.#refusedByLock(transaction, key, options),
      (refusal) => refusal ?? this.#change(transaction, key, stamp, decoded, options),
    );
  }

  /** The statement of a change checks the lock; where nothing changes, a further one does. */
  #changeGuarded(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    const changed = caught<SaveResult | undefined>(
      () => this.#change(transaction, key, stamp, decoded, options),
      (error) => {
        if (error instanceof LockedRowError) return undefined;
        throw error;
      },
    );
    return whenThere(changed, (result) => {
      const isChange =
        result !== undefined && !('problems' in result) && result.outcome === 'changed';
      if (isChange) return result;
      return whenThere(
        this.#refusedByLock(transaction, key, options),
        // A lock may have ended meanwhile.
        (refusal) =>
          refusal ?? result ?? this.#changeGuarded(transaction, key, stamp, decoded, options),
      );
    });
  }

  /** A lock may outlive its entity, which is unknown then. */
  #refusedByLock(
    transaction: Transaction,
    key: string | number,
    options: EntitySaveOptions,
  ): Pending<Refusal | undefined> {
    return whenThere(this.lockOf(key, options, transaction), (lock) =>
      lock === undefined
        ? undefined
        : whenThere(this.updater.stampOf(transaction, key), (current) =>
            current === undefined ? undefined : this.refusals.locked(key, lock),
          ),
    );
  }

  #change(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    const { mode, session } = options;
    const timestamp = mode === 'preview' ? undefined : options.timestamp;
    const updating = { timestamp, session, mode };
    const updated = this.updater.update(transaction, key, stamp, decoded, updating);
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
    decoded: Decoded,
    options: EntitySaveOptions,
  ): Pending<SaveResult> {
    const create = (): Pending<SaveResult> => this.#creator.create(transaction, decoded, options);
    if (key === undefined) return create();
    const refusal = (stamp: number): Pending<Refusal> =>
      whenThere(this.lockOf(key, options, transaction), (lock) =>
        lock === undefined
          ? this.refusals.stampChanged(key, undefined, stamp)
          : this.refusals.locked(key, lock),
      );
    const stampOf = (): Pending<number | undefined> => this.updater.stampOf(transaction, key);
    return whenThere(stampOf(), (stamp) => {
      if (stamp !== undefined) return refusal(stamp);
      return whenThere(create(), (result) => {
        if (!('problems' in result) || result.status !== errorCodes.stampChanged.status) {
          return result;
        }
        // Another transaction may have created the entity meanwhile.
        return whenThere(stampOf(), (now) => (now === undefined ? result : refusal(now)));
      });
    });
  }

  /** The lock of another session, which a preview ignores. */
  lockOf(
    key: string | number,
    { mode, session }: EntitySaveOptions,
    transaction: Transaction,
  ): ReturnType<LockTable['refusal']> {
    if (this.#locks === undefined || this.#locks.isEmpty || mode === 'preview') return undefined;
    return this.#locks.refusal(this.dataclass.name, key, session, transaction);
  }
}

/**
 * Waits for all transactions that are changing an entity, before a client learns of its lock: see
 * `DatabaseLockTable`.
 * @param transaction that nobody needs afterwards, or that of the code that locks the entity
 */
export function waitForWriters(
  transaction: Transaction,
  dialect: Dialect,
  dataclass: Dataclass,
  key: string | number,
): Pending<void> {
  const lock = planLock(dialect, dataclass);
  const isImpossible = typeof key === 'string' && (!isWellFormed(key) || key.includes('\0'));
  // Where one transaction writes at a time, it locks no rows.
  if (lock === undefined || isImpossible) return undefined;
  const compared = comparableKey(dataclass, dialect, key);
  return whenThere(transaction.value(lock, [JSON.stringify([compared])]), () => undefined);
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

/** A statement that changes an entity, or creates entities, and its values. */
interface DirectSave extends BoundStatement {
  /**
   * Whether one of several entities is related to a later one: created one after the other, it would
   * be refused. A client can guess a key that is generated next.
   * @param keys of the entities, as a JSON list
   */
  readonly refersAhead?: (keys: string) => boolean;
}

const noValues: ReadonlyMap<string, StoredValue> = new Map();

/** Stores new entities of one dataclass. */
class EntityCreator {
  readonly #insert: InsertPlan;
  #direct: Statement | undefined;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly constraints: Constraints,
  ) {
    this.#insert = planInsert(dialect, dataclass);
  }

  /**
   * Stores one entity, or reports everything that is wrong with it; the transaction continues
   * either way.
   */
  create(
    transaction: Transaction,
    decoded: Decoded,
    { timestamp, mode }: EntitySaveOptions,
  ): Pending<SaveResult> {
    const { relations, sequences, refusals } = this.constraints;
    const { values, problems } = decoded;
    const given = mode === 'store' ? sequences.given(values) : noValues;
    return whenThere(relations.resolve(transaction, decoded), ({ length: unknown }) => {
      if (unknown > 0 || problems.length > 0) return this.#faulty(transaction, decoded);
      return whenThere(sequences.draw(transaction, values), (ended) =>
        ended === undefined
          ? this.#store(transaction, decoded, given, timestamp)
          : refusals.sequenceEnded(ended),
      );
    });
  }

  /** The statement that creates entities without another one. */
  direct(all: readonly Decoded[], timestamp: string, plan: PlanDirect): DirectSave | undefined {
    const { dataclass } = this;
    const statement = (this.#direct ??= this.#planDirect(plan));
    if (statement === undefined) return undefined;
    const own = dataclass.attributes.filter(
      (each): each is RelatedEntityDefinition =>
        each.kind === 'relatedEntity' && each.target === dataclass.name && each.onDelete !== 'none',
    );
    const related = all.flatMap(({ values }, index) =>
      own.flatMap(({ foreignKey, references }) => {
        const key = values.get(foreignKey) ?? null;
        return key === null ? [] : [{ key: String(key), index, isKey: references === undefined }];
      }),
    );
    const isAlone = all.length < 2;
    return {
      statement,
      values: this.#insert.rows(all, timestamp),
      // It keeps nothing of what was decoded, which would live until the entities are stored.
      refersAhead: (keys) => {
        if (isAlone || related.length === 0) return false;
        // Only keys are compared here.
        if (related.some(({ isKey }) => !isKey)) return true;
        const list = JSON.parse(keys) as readonly (string | number)[];
        const position = new Map(list.map((key, index) => [String(key), index]));
        return related.some(({ key, index }) => (position.get(key) ?? index) > index);
      },
    };
  }

  #planDirect(plan: PlanDirect): Statement | undefined {
    const written = this.#insert.together(this.dialect);
    return written === undefined ? undefined : plan(written, 'list');
  }

  #store(
    transaction: Transaction,
    decoded: Decoded,
    given: ReadonlyMap<string, StoredValue>,
    timestamp: string,
  ): Pending<SaveResult> {
    const { values } = decoded;
    return caught(
      () => {
        const bound = this.#insert.values(values, timestamp);
        const stored = transaction.run(this.#insert.statement, bound);
        return whenThere(stored, ({ insertedKey }): Pending<SaveResult> => {
          const key = values.get(this.dataclass.key.name) as string | number | null | undefined;
          const created = { key: key ?? insertedKey, outcome: 'created' } as const;
          return whenThere(this.constraints.sequences.raise(transaction, given), () => created);
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
      return this.constraints.refusedByDatabase(transaction, error, decoded);
    }
    const faults = await this.constraints.faults(transaction, decoded);
    const { refusals } = this.constraints;
    return hasFaults(faults) ? refusals.faulty(faults) : refusals.sequenceEnded(key);
  }

  async #faulty(transaction: Transaction, decoded: Decoded): Promise<Refusal> {
    return this.constraints.refusals.faulty(await this.constraints.faults(transaction, decoded));
  }
}

/** How to store a dataclass's new entities: one statement for all of them. */
export interface InsertPlan {
  readonly statement: Statement;
  /** The values to bind for an entity that is created at `timestamp`. */
  readonly values: (entity: ReadonlyMap<string, StoredValue>, timestamp: string) => SqlValue[];
  /**
   * Stores the entities of {@link rows}, and returns their columns. None if the database has no such
   * statement, or JSON cannot hold each value.
   */
  readonly together: (dialect: Dialect) => Sql | undefined;
  /** The values to bind for entities that are created together. */
  readonly rows: (entities: readonly Pick<Decoded, 'values'>[], timestamp: string) => SqlValue[];
}

/** JSON has no bytes, and no arrays in the form of a column. */
const notInJson: ReadonlySet<string> = new Set(['image', 'blob', 'vector']);

export function planInsert(dialect: Dialect, dataclass: Dataclass): InsertPlan {
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
    const slot = boundValue(dialect, stored[index], new Slot(index));
    const isDrawnKey = isDrawn && name === key.column;
    return [name, isDrawnKey ? dialect.insertedKey(slot, dataclass.table, name) : slot] as const;
  });
  const insert = dataclass.queries.insert(dialect.db, Object.fromEntries(row));
  const valuesOf: InsertPlan['values'] = (entity, timestamp) => [
    ...stored.map((each) => entity.get(each.name) ?? null),
    ...derived.flatMap((each) => each.derive(entity.get(each.attribute) ?? null)),
    1,
    timestamp,
  ];
  return {
    statement: dialect.compile(
      isDrawn && dialect.returnsKey ? openedInsert(insert).returning(keyAlone(key)) : insert,
    ),
    values: valuesOf,
    together: ({ direct }) => {
      if (direct === undefined || stored.some(({ type }) => notInJson.has(type))) return undefined;
      const table = sql.id(dataclass.table);
      const given = columns.map((name) => {
        if (name === '__STAMP') return sql.lit(1);
        if (name === '__TIMESTAMP') return sql`${new Slot(1)}`;
        const value = sql.id('__row', name);
        return isDrawn && name === key.column
          ? direct.insertedKeys(sql`${new Slot(2)}`, value, dataclass.table, name)
          : value;
      });
      const rows = direct.rows(dataclass.table, sql`${new Slot(0)}`);
      return sql`insert into ${table} (${sql.join(columns.map((name) => sql.id(name)))}) select ${sql.join(given)} from ${rows} as "__row" returning ${table}.*`;
    },
    rows: (entities, timestamp) => {
      const rows = entities.map(({ values }) => {
        const row: Record<string, SqlValue> = {};
        for (const { name, column } of stored) row[column] = values.get(name) ?? null;
        for (const { attribute, columns: names, derive } of derived) {
          const derivedValues = derive(values.get(attribute) ?? null);
          for (const [index, each] of names.entries()) row[each] = derivedValues[index] ?? null;
        }
        return row;
      });
      const isKeyed = entities.some(({ values }) => (values.get(key.name) ?? null) !== null);
      return [JSON.stringify(rows), timestamp, isKeyed ? null : rows.length];
    },
  };
}

function keyAlone({ column }: StorageDefinition): AliasedExpression<unknown, string> {
  return sql.id(column).as(column);
}
