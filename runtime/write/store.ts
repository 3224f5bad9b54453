import { readable } from '../dataclass/permissions.js';
import type { Lock } from '../access/locks.js';
import { comparableKey } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Cache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, LockedRowError, type Transaction } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { errorCodes } from '../protocol/errors.js';
import { Constraints, noFaults } from './constraints.js';
import {
  type Address,
  type Decoded,
  isCreation,
  type Received,
  type SentEntity,
} from './decode.js';
import { graver, type KeptValue, keptValue } from './denials.js';
import type { LiveEntity } from './lifecycle.js';
import { hasFaults, type Refusal, type Refusals } from './refusals.js';
import {
  type BoundStatement,
  type InsertStatement,
  type CompleteChange,
  insertStatement,
  UpdateStatements,
} from './statements.js';
import type { SaveContext, SaveResult, Surroundings } from './surroundings.js';

/** A statement that changes an entity, or creates entities, and its values. */
export interface DirectSave extends BoundStatement {
  /**
   * Whether one of several entities is related to a later one: created one after the other, it would
   * be refused. A client can guess a key that is generated next.
   * @param keys of the entities, as a JSON list
   */
  readonly refersAhead?: (keys: string) => boolean;
}

/** Rolls back the part of a transaction in which a refused entity is saved. */
class RefusedPart extends Error {
  constructor(readonly refusal: Refusal) {
    super('refused');
  }
}

/**
 * Saves in a part of a transaction. A refusal rolls the part back, and the transaction continues.
 * @param inPart runs work in a part, and rolls it back if the work throws
 */
export async function undoneIfRefused<A extends readonly unknown[]>(
  inPart: (work: (...given: A) => Promise<SaveResult>) => Promise<SaveResult>,
  save: (...given: A) => Promise<SaveResult>,
): Promise<SaveResult> {
  try {
    return await inPart(async (...given) => {
      const result = await save(...given);
      if ('problems' in result) throw new RefusedPart(result);
      return result;
    });
  } catch (error) {
    if (error instanceof RefusedPart) return error.refusal;
    throw error;
  }
}

/**
 * Stores decoded values of entities of one dataclass, or reports everything that is wrong with them;
 * the transaction continues either way. It checks locks, keeps hidden relations, resolves related
 * keys, and runs one statement, which checks the stamp and the values. If the database refuses it,
 * further statements find the reasons. Then `restrict` decides about what is stored.
 */
export class EntityStore {
  readonly constraints: Constraints;
  readonly #insert: InsertStatement;
  readonly #updates: UpdateStatements;
  #insertTogether: Statement | undefined;

  /** @param statements the cache of statements that change entities */
  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    statements: Cache<Statement>,
    private readonly surroundings: Surroundings,
  ) {
    this.constraints = new Constraints(dialect, dataclass, statements);
    this.#insert = insertStatement(dialect, dataclass);
    this.#updates = new UpdateStatements(dialect, dataclass, statements, surroundings.locks?.guard);
  }

  get refusals(): Refusals {
    return this.constraints.refusals;
  }

  /**
   * Stores decoded values, or reports everything that is wrong with them. All saves come here but
   * those of {@link direct}, so this is where `restrict` decides about what is stored.
   */
  async save(context: SaveContext, address: Address, decoded: Decoded): Promise<SaveResult> {
    const { restrictions } = this.surroundings;
    if (
      restrictions === undefined ||
      !this.#checksRows ||
      context.mode === 'preview' ||
      !(await restrictions.hidesSome(this.dataclass.name))
    ) {
      return this.#write(context, address, decoded);
    }
    const store = (): Promise<SaveResult> => this.#writeVisible(context, address, decoded);
    return context.isAlone ? store() : undoneIfRefused((work) => restrictions.inPart(work), store);
  }

  /** Whether sessions may not store what they cannot see. */
  get #checksRows(): boolean {
    return this.dataclass.restriction?.restrictsWrites === true;
  }

  /**
   * Refuses an entity that `restrict` would hide from the session that stores it
   * (`access.md#restrict-for-writes`). It reads what the transaction has stored: defaults, numbers
   * and what events set are there, and nobody else can change the entity before the transaction
   * ends.
   */
  async #writeVisible(
    context: SaveContext,
    address: Address,
    decoded: Decoded,
  ): Promise<SaveResult> {
    const result = await this.#write(context, address, decoded);
    if (!this.#checksRows || 'problems' in result || result.outcome === 'unchanged') return result;
    // A hidden entity has no stamp.
    if ((await this.stampOf(context, result.key)) !== undefined) return result;
    const existing = result.outcome === 'created' ? undefined : result.key;
    const refusal = this.refusals.hidden(existing);
    return context.isAlone ? { ...refusal, isStored: true } : refusal;
  }

  async #write(
    context: SaveContext,
    { key, stamp }: Address,
    decoded: Decoded,
  ): Promise<SaveResult> {
    if (key === undefined) return this.#create(context, decoded);
    if (stamp === undefined) return this.#createWithKey(context, key, decoded);
    const { locks } = this.surroundings;
    if (locks?.guard !== undefined && context.mode !== 'preview') {
      return this.#changeGuarded(context, key, stamp, decoded);
    }
    const refusal = await this.#refusedByLock(context, key);
    return refusal ?? this.#change(context, key, stamp, decoded);
  }

  /** The statement of a change checks the lock; where nothing changes, a further one does. */
  async #changeGuarded(
    context: SaveContext,
    key: string | number,
    stamp: number,
    decoded: Decoded,
  ): Promise<SaveResult> {
    for (;;) {
      let result: SaveResult | undefined;
      try {
        result = await this.#change(context, key, stamp, decoded);
      } catch (error) {
        if (!(error instanceof LockedRowError)) throw error;
      }
      const isChange =
        result !== undefined && !('problems' in result) && result.outcome === 'changed';
      const refusal = isChange ? undefined : await this.#refusedByLock(context, key);
      if (refusal !== undefined) return refusal;
      // Otherwise the lock has ended meanwhile.
      if (result !== undefined) return result;
    }
  }

  /** The lock of another session, which a preview ignores. */
  async #lockOf(
    { transaction, mode, session }: SaveContext,
    key: string | number,
  ): Promise<Lock | undefined> {
    const { locks } = this.surroundings;
    if (locks === undefined || locks.isEmpty || mode === 'preview') return undefined;
    return locks.refusal(this.dataclass.name, key, session, transaction);
  }

  async #refusedByLock(context: SaveContext, key: string | number): Promise<Refusal | undefined> {
    const lock = await this.#lockOf(context, key);
    if (lock === undefined) return undefined;
    // An entity that does not exist is unknown, even if its lock has not ended yet.
    const current = await this.stampOf(context, key);
    return current === undefined ? undefined : this.refusals.locked(key, lock);
  }

  /**
   * Checks the lock and the stamp of an entity that was read.
   * @param stamp that the client or the class code knows
   * @param current as it was read; `undefined` if there is no such entity
   * @param known the lock of another session, if it was read with the entity
   */
  async outdated(
    context: SaveContext,
    key: string | number,
    stamp: number | undefined,
    current: number | undefined,
    known?: Lock | null,
  ): Promise<Refusal | undefined> {
    const isRead = known !== undefined && context.mode !== 'preview';
    const lock = isRead ? (known ?? undefined) : await this.#lockOf(context, key);
    if (lock !== undefined) return this.refusals.locked(key, lock);
    if (current === undefined) return this.refusals.unknownKey(key);
    return stamp === current ? undefined : this.refusals.stampChanged(key, stamp, current);
  }

  /** The stamp of a visible entity; `undefined` if there is none. */
  async stampOf(context: SaveContext, key: string | number): Promise<number | undefined> {
    const stamp = await context.transaction.value(this.#updates.stamp, [this.#comparable(key)]);
    return stamp === undefined ? undefined : Number(stamp);
  }

  /** The stamp of a visible entity, which nobody else can change until the transaction ends. */
  async lockedStampOf(context: SaveContext, key: string | number): Promise<number | undefined> {
    const { lockedStamp } = this.#updates;
    const { rows } = await context.transaction.table(lockedStamp, [this.#comparable(key)]);
    const [row] = rows;
    return row === undefined ? undefined : Number(row[0]);
  }

  #comparable(key: string | number): string | number {
    return comparableKey(this.dataclass, this.dialect, key);
  }

  /**
   * Changes one entity, or reports everything that is wrong with it (protocol P7.8, P7.15). A stale
   * stamp is reported before anything else.
   * @throws LockedRowError if the database itself refuses the change of a locked entity
   */
  async #change(
    context: SaveContext,
    key: string | number,
    stamp: number,
    received: Decoded,
  ): Promise<SaveResult> {
    const { relations } = this.constraints;
    const decoded = await this.withoutHidden(context, key, received);
    const { values, unrelated } = await relations.resolve(context.transaction, decoded);
    const isRight = decoded.problems.length + unrelated.length === 0;
    return isRight && values.size > 0
      ? this.#update(context, key, stamp, decoded, values)
      : this.#unchanged(context, key, stamp, decoded, isRight);
  }

  /** @param values to store, in which related keys are resolved */
  async #update(
    context: SaveContext,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    values: Decoded['values'],
  ): Promise<SaveResult> {
    const { transaction, mode, timestamp, session } = context;
    const { sequences } = this.constraints;
    const change = {
      key: this.#comparable(key),
      stamp,
      timestamp: mode === 'preview' ? undefined : timestamp,
      session,
      values,
      readOnly: decoded.readOnly,
    };
    try {
      const run = this.#updates.changing(change) as BoundStatement;
      const { changes } = await transaction.run(run.statement, run.values);
      if (changes === 0) return await this.#unchanged(context, key, stamp, decoded, true);
      if (mode === 'store') await sequences.raise(transaction, values);
      return { key, outcome: 'changed' };
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      return this.constraints.refusedByDatabase(transaction, error, values, key);
    }
  }

  /** Why an entity was not changed, if it should have been. */
  async #unchanged(
    context: SaveContext,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    isRight: boolean,
  ): Promise<SaveResult> {
    const obstacle = await this.#obstacle(context, key, stamp, decoded, isRight);
    return obstacle ?? { key, outcome: 'unchanged' };
  }

  /**
   * Everything that prevents the change of an entity. The statement locks the row, so that the reason
   * stays true.
   * @param isRight whether the values themselves can be stored
   */
  async #obstacle(
    context: SaveContext,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    isRight: boolean,
  ): Promise<Refusal | undefined> {
    const { refusals } = this;
    const current = await this.lockedStampOf(context, key);
    if (current === undefined) return refusals.unknownKey(key);
    if (current !== stamp) return refusals.stampChanged(key, stamp, current);
    const readOnly = await this.#changedReadOnly(context, key, decoded);
    if (isRight && readOnly.length === 0) return undefined;
    const problems = [...decoded.problems, ...readOnly.map(({ problem }) => problem)];
    const status = readOnly.reduce((all, { status: each }) => graver(all, each), decoded.status);
    const { values, unrelated } = decoded;
    const found = { problems, status, values, unrelated };
    const faults = await this.constraints.faults(context.transaction, found, key);
    return hasFaults(faults) ? refusals.faulty(faults, key) : undefined;
  }

  /**
   * The values for read-only attributes that would change. A whole entity may be sent as it was read;
   * their values must be the stored ones.
   * @param live the entity, if it was read
   */
  async #changedReadOnly(
    context: SaveContext,
    key: string | number,
    { readOnly }: Decoded,
    live?: LiveEntity,
  ): Promise<readonly KeptValue[]> {
    const kept: KeptValue[] = [];
    for (const [name, value] of readOnly) {
      if (live?.hasStored(name, value) === true) continue;
      const attribute = this.dataclass.allAttributes.get(name) as StorageDefinition;
      const values = [this.#comparable(key), value];
      const isSame = await context.transaction.value(this.#updates.hasValue(attribute), values);
      if (Number(isSame) !== 1) kept.push(keptValue(this.dataclass, attribute, value));
    }
    return kept;
  }

  /**
   * Keeps a relation that leads nowhere, or to a hidden entity, as it is if the body contains what a
   * read shows of it: null, or the foreign key that is stored.
   * @param key of an existing entity
   * @returns what is left to be stored
   */
  async withoutHidden(
    context: SaveContext,
    key: string | number | undefined,
    decoded: Decoded,
  ): Promise<Decoded> {
    if (key === undefined) return decoded.without(nothingKept);
    const { relations } = this.constraints;
    const { foldText } = this.dialect;
    const { values, nullRelations } = decoded;
    const hidden = new Set<string>();
    for (const relation of relations.leadingNowhere) {
      const foreignKey = this.dataclass.foreignKey(relation);
      const { name } = foreignKey;
      const value = values.get(name);
      const isNull = value === null && nullRelations.has(name);
      const isKey = value !== null && readable(this.dataclass, name) !== undefined;
      const isLoose = relation.onDelete === 'none';
      // A read shows the text of the related key, and not that of the foreign key.
      const isText = isLoose && !isKey && typeof value === 'string';
      if (value === undefined || hidden.has(name) || !(isNull || isKey || isText)) continue;
      const stored = await this.#stored(context, key, foreignKey);
      if (typeof stored !== 'string' && typeof stored !== 'number') continue;
      const isSame = isText ? foldText(value) === foldText(String(stored)) : stored === value;
      if (!isNull && !isSame) continue;
      const isKept = isLoose && !isNull;
      if (isKept || !(await relations.isShown(context.transaction, relation, stored)))
        hidden.add(name);
    }
    return decoded.without(hidden);
  }

  /**
   * Whether values name a hidden entity to which a relation leads already. It would change nothing,
   * but accepting it would reveal where the relation leads.
   * @param values that {@link withoutHidden} has left
   */
  async #repeatsHidden(
    context: SaveContext,
    key: string | number,
    values: Decoded['values'],
  ): Promise<boolean> {
    const { relations } = this.constraints;
    for (const relation of relations.toRestricted) {
      const foreignKey = this.dataclass.foreignKey(relation);
      const value = values.get(foreignKey.name);
      if (typeof value !== 'string' && typeof value !== 'number') continue;
      const stored = await this.#stored(context, key, foreignKey);
      if (stored !== value) continue;
      if (!(await relations.isShown(context.transaction, relation, value))) return true;
    }
    return false;
  }

  #stored(
    context: SaveContext,
    key: string | number,
    attribute: StorageDefinition,
  ): Promise<SqlValue | undefined> {
    return context.transaction.value(this.#updates.stored(attribute), [this.#comparable(key)]);
  }

  /** If only its key is sent, an entity is created with it, and never overwritten. */
  async #createWithKey(
    context: SaveContext,
    key: string | number,
    decoded: Decoded,
  ): Promise<SaveResult> {
    const existing = await this.#existing(context, key);
    if (existing !== undefined) return existing;
    const result = await this.#create(context, decoded);
    const isTaken = 'problems' in result && result.status === errorCodes.stampChanged.status;
    // Another transaction may have created the entity meanwhile.
    return isTaken ? ((await this.#existing(context, key)) ?? result) : result;
  }

  /** The refusal of a new entity whose key another one has. */
  async #existing(context: SaveContext, key: string | number): Promise<Refusal | undefined> {
    const stamp = await this.stampOf(context, key);
    return stamp === undefined ? undefined : this.outdated(context, key, undefined, stamp);
  }

  /** Stores a new entity, or reports everything that is wrong with it. */
  async #create(context: SaveContext, decoded: Decoded): Promise<SaveResult> {
    const { relations, sequences } = this.constraints;
    const { values, unrelated } = await relations.resolve(context.transaction, decoded);
    if (unrelated.length + decoded.problems.length > 0) return this.#faulty(context, decoded);
    const drawn = await sequences.draw(context.transaction, values);
    return 'ended' in drawn
      ? this.refusals.sequenceEnded(drawn.ended)
      : this.#insertNew(context, decoded.values, drawn.values);
  }

  /**
   * @param given values of the client or of class code
   * @param values to store, in which related keys are resolved and numbers are drawn
   */
  async #insertNew(
    { transaction, mode, timestamp }: SaveContext,
    given: Decoded['values'],
    values: Decoded['values'],
  ): Promise<SaveResult> {
    const { sequences } = this.constraints;
    const { statement, values: bound } = this.#insert;
    try {
      const { insertedKey } = await transaction.run(statement, bound(values, timestamp));
      const key = values.get(this.dataclass.key.name) as string | number | null | undefined;
      if (mode === 'store') await sequences.raise(transaction, given);
      return { key: key ?? insertedKey, outcome: 'created' };
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      return this.#notInserted(transaction, error, values);
    }
  }

  async #notInserted(
    transaction: Transaction,
    error: ConstraintError,
    values: Decoded['values'],
  ): Promise<Refusal> {
    const { key } = this.dataclass;
    const isDrawn = key.generated === 'sequence' && (values.get(key.name) ?? null) === null;
    // Rules of the model were checked before: the database refuses a number that it drew itself.
    if (error.kind !== 'check' || !isDrawn) {
      return this.constraints.refusedByDatabase(transaction, error, values);
    }
    const faults = await this.constraints.faults(transaction, { ...noFaults, values });
    return hasFaults(faults) ? this.refusals.faulty(faults) : this.refusals.sequenceEnded(key);
  }

  async #faulty(context: SaveContext, decoded: Decoded): Promise<Refusal> {
    return this.refusals.faulty(await this.constraints.faults(context.transaction, decoded));
  }

  /**
   * The one statement that stores entities.
   * @param decoded what their bodies say, as far as it was decoded
   * @param complete makes it the whole statement
   * @returns none if they need more than one statement, or cannot be stored
   */
  direct(
    entities: readonly SentEntity[],
    decoded: readonly (Decoded | undefined)[],
    { timestamp, session }: Pick<SaveContext, 'timestamp' | 'session'>,
    complete: CompleteChange,
  ): DirectSave | undefined {
    const all: Decoded[] = [];
    for (const each of decoded) {
      if (each === undefined || !this.constraints.isOneStatement(each)) return undefined;
      all.push(each);
    }
    const [first] = entities;
    const [only] = all;
    if (first === undefined || only === undefined || 'problems' in first.address) return undefined;
    if (entities.every(isCreation)) return this.#directCreation(all, timestamp, complete);
    const { key, stamp } = first.address;
    const { values, readOnly } = only;
    const { locks } = this.surroundings;
    // The statement of a change finds locks in the database itself.
    const isUnlocked = locks === undefined || locks.isEmpty || locks.guard !== undefined;
    if (key === undefined || stamp === undefined || values.size === 0 || !isUnlocked) {
      return undefined;
    }
    const compared = this.#comparable(key);
    const change = { key: compared, stamp, timestamp, session, values, readOnly };
    return this.#updates.changing(change, complete);
  }

  #directCreation(
    all: readonly Decoded[],
    timestamp: string,
    complete: CompleteChange,
  ): DirectSave | undefined {
    const { dataclass } = this;
    const statement = (this.#insertTogether ??= this.#writeTogether(complete));
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

  #writeTogether(complete: CompleteChange): Statement | undefined {
    const written = this.#insert.together(this.dialect);
    return written === undefined ? undefined : complete(written, 'list');
  }

  /**
   * Everything that is wrong with a client's values before class code gets them.
   * @param existing the entity, if it was read
   * @param given what {@link withoutHidden} has left of the values
   * @returns none if class code has to decide
   */
  async refusedByValues(
    context: SaveContext,
    existing: LiveEntity | undefined,
    stamp: number | undefined,
    received: Received,
    given: Decoded,
  ): Promise<Refusal | undefined> {
    if (!(await this.#isFaulty(context, existing, given))) return undefined;
    const checked = received.checked();
    const { key } = existing ?? {};
    if (key === undefined || stamp === undefined) return this.#faulty(context, checked);
    const locked = await this.#refusedByLock(context, key);
    if (locked !== undefined) return locked;
    const decoded = await this.withoutHidden(context, key, checked);
    return this.#obstacle(context, key, stamp, decoded, false);
  }

  async #isFaulty(
    context: SaveContext,
    existing: LiveEntity | undefined,
    given: Decoded,
  ): Promise<boolean> {
    if (given.problems.length + given.unrelated.length > 0) return true;
    const { key } = existing ?? {};
    if (existing === undefined || key === undefined) return false;
    const kept = await this.#changedReadOnly(context, key, given, existing);
    return kept.length > 0 || this.#repeatsHidden(context, key, given.values);
  }
}

const nothingKept: ReadonlySet<string> = new Set();
