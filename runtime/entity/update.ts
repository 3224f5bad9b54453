import type { Dataclass } from '../dataclass/dataclasses.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { decodeChanges } from './decode.js';
import type { Body, Decoded, Author } from './decoded.js';
import { graver, type KeptValue, keptValue } from './denials.js';
import type { Refusal } from './refusals.js';
import type { SaveTools } from './save-tools.js';
import { UpdateStatements } from './update-statement.js';

const changed = { isChange: true } as const;

/** Changes entities of one dataclass (specification, "$method=update rules"; protocol sections 11.2 and 12.2). */
export class EntityUpdater {
  readonly #statements: UpdateStatements;
  readonly #stamp: Statement;
  readonly #lockedStamp: Statement;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly tools: SaveTools,
    known: BoundedCache<Statement>,
  ) {
    this.#statements = new UpdateStatements(dialect, dataclass, known);
    this.#stamp = this.#statements.stamp;
    this.#lockedStamp = this.#statements.lockedStamp;
  }

  /** The stamp of the entity of a key; `undefined` when there is none. */
  stampOf(transaction: Transaction, key: string | number): Pending<number | undefined> {
    return this.#stampBy(this.#stamp, transaction, key);
  }

  #stampBy(
    statement: Statement,
    transaction: Transaction,
    key: string | number,
  ): Pending<number | undefined> {
    const stored = transaction.value(statement, [this.#comparable(key)]);
    return whenThere(stored, (stamp) => (stamp === undefined ? undefined : Number(stamp)));
  }

  /**
   * Changes one entity, or tells everything that is wrong with it; the transaction goes on either way. A stamp that is not
   * the entity's any more is told before anything else.
   * @param timestamp `undefined` lets the entity keep its stamp and its timestamp
   * @returns whether anything changed, or why it did not
   */
  update(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    body: Body,
    timestamp: string | undefined,
    author: Author,
  ): Pending<{ readonly isChange: boolean } | Refusal> {
    const { relations } = this.tools;
    const decoded = decodeChanges(this.dataclass, body, key, this.dialect.foldText, author);
    const { values, problems } = decoded;
    return whenThere(this.keepHidden(transaction, key, body, values), () =>
      whenThere(relations.resolve(transaction, values), ({ length: unknown }) => {
        const isRight = problems.length === 0 && unknown === 0;
        return isRight && values.size > 0
          ? this.#change(transaction, key, stamp, decoded, timestamp)
          : this.#unchanged(transaction, key, stamp, decoded, isRight);
      }),
    );
  }

  /**
   * Tells everything that {@link update} would find wrong, by reads alone.
   * @returns what would be stored, or why it would not
   */
  async check(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    body: Body,
    author: Author,
  ): Promise<Pick<Decoded, 'values'> | Refusal> {
    const decoded = decodeChanges(this.dataclass, body, key, this.dialect.foldText, author);
    const { values } = decoded;
    await this.keepHidden(transaction, key, body, values);
    await this.tools.relations.resolve(transaction, values);
    const result = await this.#unchanged(transaction, key, stamp, decoded, false, this.#stamp);
    return 'problems' in result ? { ...result, values } : { values };
  }

  #change(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    timestamp: string | undefined,
  ): Pending<{ readonly isChange: boolean } | Refusal> {
    const { values, readOnly } = decoded;
    const change = { key: this.#comparable(key), stamp, timestamp, values, readOnly };
    const run = this.#statements.changing(change);
    return caught(
      () =>
        whenThere(
          transaction.run(run.statement, run.values),
          ({ changes }): Pending<{ readonly isChange: boolean } | Refusal> =>
            changes > 0
              ? whenThere(this.tools.sequences.raise(transaction, values), () => changed)
              : this.#unchanged(transaction, key, stamp, decoded, true),
        ),
      (error) => {
        if (!(error instanceof ConstraintError)) throw error;
        return this.tools.refusedByDatabase(transaction, error, decoded, key);
      },
    );
  }

  /**
   * Lets a relation to an entity that may not be seen be as it is, where the body tells what a read tells of it: null, or the
   * foreign key that is stored.
   * @param values of the body; those of such relations are taken away
   */
  keepHidden(
    transaction: Transaction,
    key: string | number,
    body: Body,
    values: Map<string, StoredValue>,
  ): Pending<void> {
    const { toRestricted } = this.tools.relations;
    // Most changes are of no relation, and go on at once.
    return toRestricted.some(({ foreignKey }) => values.has(foreignKey))
      ? this.#keepAllHidden(transaction, key, body, values)
      : undefined;
  }

  async #keepAllHidden(
    transaction: Transaction,
    key: string | number,
    body: Body,
    values: Map<string, StoredValue>,
  ): Promise<void> {
    const { relations } = this.tools;
    for (const relation of relations.toRestricted) {
      const foreignKey = this.dataclass.foreignKey(relation);
      const value = values.get(foreignKey.name);
      const isNull = value === null && !Object.hasOwn(body, foreignKey.name);
      const isKey = value !== null && foreignKey.exposed !== false;
      if (value === undefined || !(isNull || isKey)) continue;
      const stored = await this.#stored(transaction, key, foreignKey);
      if (typeof stored !== 'string' && typeof stored !== 'number') continue;
      if (isKey && stored !== value) continue;
      if (await relations.isShown(transaction, relation, stored)) continue;
      values.delete(foreignKey.name);
    }
  }

  /**
   * Whether values name an entity that may not be seen and that a relation leads to already. Nothing would be changed by it, but
   * to take it would tell where the relation leads.
   * @param values what {@link keepHidden} has left
   */
  async repeatsHidden(
    transaction: Transaction,
    key: string | number,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<boolean> {
    const { relations } = this.tools;
    for (const relation of relations.toRestricted) {
      const foreignKey = this.dataclass.foreignKey(relation);
      const value = values.get(foreignKey.name);
      if (typeof value !== 'string' && typeof value !== 'number') continue;
      const stored = await this.#stored(transaction, key, foreignKey);
      if (stored !== value) continue;
      if (!(await relations.isShown(transaction, relation, value))) return true;
    }
    return false;
  }

  /**
   * Why an entity was not changed, if it should have been.
   * @param statement reads its stamp; of one that is to be stored, it locks the row, so that what is told is still so then
   */
  async #unchanged(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    isRight: boolean,
    statement = this.#lockedStamp,
  ): Promise<{ readonly isChange: false } | Refusal> {
    const { refusals } = this.tools;
    const current = await this.#stampBy(statement, transaction, key);
    if (current === undefined) return refusals.unknownKey(key);
    if (current !== stamp) return refusals.stampChanged(key, stamp, current);
    const readOnly = await this.changedReadOnly(transaction, key, decoded);
    if (isRight && readOnly.length === 0) return { isChange: false };
    const problems = [...decoded.problems, ...readOnly.map(({ problem }) => problem)];
    const status = readOnly.reduce((all, { status: each }) => graver(all, each), decoded.status);
    const { values } = decoded;
    const faults = await this.tools.faults(transaction, { problems, status, values }, key);
    const isFaulty = problems.length + faults.missing.length + faults.taken.length > 0;
    return isFaulty ? refusals.faulty(faults, key) : { isChange: false };
  }

  /** A whole entity may be sent as it was read, read-only attributes included; their values must be what is stored. */
  async changedReadOnly(
    transaction: Transaction,
    key: string | number,
    { readOnly }: Decoded,
  ): Promise<readonly KeptValue[]> {
    const kept: KeptValue[] = [];
    for (const [name, value] of readOnly) {
      const attribute = this.dataclass.allAttributes.get(name) as StorageDefinition;
      const statement = this.#statements.hasValue(attribute);
      const isSame = await transaction.value(statement, [this.#comparable(key), value]);
      if (Number(isSame) === 1) continue;
      kept.push(keptValue(this.dataclass, attribute, value));
    }
    return kept;
  }

  #stored(
    transaction: Transaction,
    key: string | number,
    attribute: StorageDefinition,
  ): Pending<SqlValue | undefined> {
    return transaction.value(this.#statements.stored(attribute), [this.#comparable(key)]);
  }

  #comparable(key: string | number): string | number {
    return typeof key === 'string' && this.dataclass.key.type === 'string'
      ? this.dialect.foldText(key)
      : key;
  }
}
