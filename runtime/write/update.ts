import type { LockGuard } from '../access/locks.js';
import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import { type BuiltQuery, openedUpdate } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import { type SqlValue, type Statement, Slot } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { AnyRow, AnyTables, Select } from '../protocol/queries.js';
import type { StoredValue } from '../protocol/values.js';
import type { Decoded } from './decode.js';
import { graver, type KeptValue, keptValue } from './denials.js';
import { hasFaults, type Refusal } from './refusals.js';
import type { Constraints } from './constraints.js';
import type { SaveMode } from './surroundings.js';
import { sql, type SqlBool, type UpdateQueryBuilder } from 'kysely';
import { boundValue } from '../dataclass/comparable.js';
import { Aliases, column, From, type Source } from '../dataclass/source.js';
import { type DerivedColumns, derivedColumns } from './derived-columns.js';

const changed = { isChange: true } as const;

/** Changes entities of one dataclass (protocol P7.8, P7.15). */
export class EntityUpdater {
  readonly #statements: UpdateStatements;
  readonly #stamp: Statement;
  readonly #lockedStamp: Statement;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly constraints: Constraints,
    known: BoundedCache<Statement>,
    guard: LockGuard | undefined,
  ) {
    this.#statements = new UpdateStatements(dialect, dataclass, known, guard);
    this.#stamp = this.#statements.stamp;
    this.#lockedStamp = this.#statements.lockedStamp;
  }

  /** The stamp of the entity of a key; `undefined` if there is none. */
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
   * Changes one entity, or reports everything that is wrong with it; the transaction continues
   * either way. A stale stamp is reported before anything else.
   * @returns whether anything changed, or why it did not
   * @throws LockedRowError if the database itself refuses the change of a locked entity
   */
  update(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    options: UpdateOptions & { readonly mode: SaveMode },
  ): Pending<{ readonly isChange: boolean } | Refusal> {
    const { relations } = this.constraints;
    return whenThere(this.keepHidden(transaction, key, decoded), () => {
      decoded.checkNullRelations();
      return whenThere(relations.resolve(transaction, decoded), ({ length: unknown }) => {
        const isRight = decoded.problems.length === 0 && unknown === 0;
        return isRight && decoded.values.size > 0
          ? this.#change(transaction, key, stamp, decoded, options)
          : this.#unchanged(transaction, key, stamp, decoded, isRight);
      });
    });
  }

  /**
   * The statement of a change that needs no other one.
   * @param plan completes it
   */
  direct(
    key: string | number,
    stamp: number,
    decoded: Decoded,
    options: UpdateOptions,
    plan: PlanDirect,
  ): BoundStatement | undefined {
    const { values, readOnly } = decoded;
    if (values.size === 0 || !this.constraints.isOneStatement(decoded)) return undefined;
    const change = { key: this.#comparable(key), stamp, ...options, values, readOnly };
    return this.#statements.changing(change, plan);
  }

  #change(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    { mode, ...options }: UpdateOptions & { readonly mode: SaveMode },
  ): Pending<{ readonly isChange: boolean } | Refusal> {
    const { values, readOnly } = decoded;
    const change = { key: this.#comparable(key), stamp, ...options, values, readOnly };
    const run = this.#statements.changing(change) as BoundStatement;
    return caught(
      () =>
        whenThere(
          transaction.run(run.statement, run.values),
          ({ changes }): Pending<{ readonly isChange: boolean } | Refusal> => {
            if (changes === 0) return this.#unchanged(transaction, key, stamp, decoded, true);
            if (mode !== 'store') return changed;
            return whenThere(this.constraints.sequences.raise(transaction, values), () => changed);
          },
        ),
      (error) => {
        if (!(error instanceof ConstraintError)) throw error;
        return this.constraints.refusedByDatabase(transaction, error, decoded, key);
      },
    );
  }

  /**
   * Keeps a relation that leads nowhere, or to a hidden entity, as it is if the body contains what a
   * read shows of it: null, or the foreign key that is stored. The values of such relations are
   * removed.
   */
  keepHidden(transaction: Transaction, key: string | number, decoded: Decoded): Pending<void> {
    const { leadingNowhere } = this.constraints.relations;
    // Most changes contain no relation, and continue at once.
    return leadingNowhere.some(({ foreignKey }) => decoded.values.has(foreignKey))
      ? this.#keepAllHidden(transaction, key, decoded)
      : undefined;
  }

  async #keepAllHidden(
    transaction: Transaction,
    key: string | number,
    { values, nullRelations }: Decoded,
  ): Promise<void> {
    const { relations } = this.constraints;
    for (const relation of relations.leadingNowhere) {
      const foreignKey = this.dataclass.foreignKey(relation);
      const value = values.get(foreignKey.name);
      const isNull = value === null && nullRelations.has(foreignKey.name);
      const isKey = value !== null && foreignKey.exposed !== false;
      const isLoose = relation.onDelete === 'none';
      // A read shows the text of the related key, and not that of the foreign key.
      const isText = isLoose && !isKey && typeof value === 'string';
      if (value === undefined || !(isNull || isKey || isText)) continue;
      const stored = await this.#stored(transaction, key, foreignKey);
      if (typeof stored !== 'string' && typeof stored !== 'number') continue;
      const { foldText } = this.dialect;
      const isSame = isText ? foldText(value) === foldText(String(stored)) : stored === value;
      if (!isNull && !isSame) continue;
      const isKept = isLoose && !isNull;
      if (!isKept && (await relations.isShown(transaction, relation, stored))) continue;
      values.delete(foreignKey.name);
    }
  }

  /**
   * Whether values name a hidden entity to which a relation leads already. It would change nothing,
   * but accepting it would reveal where the relation leads.
   * @param values that {@link keepHidden} has left
   */
  async repeatsHidden(
    transaction: Transaction,
    key: string | number,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<boolean> {
    const { relations } = this.constraints;
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
   * Why an entity was not changed, if it should have been. The statement locks the row, so that the
   * reason stays true.
   */
  async #unchanged(
    transaction: Transaction,
    key: string | number,
    stamp: number,
    decoded: Decoded,
    isRight: boolean,
  ): Promise<{ readonly isChange: false } | Refusal> {
    const { refusals } = this.constraints;
    const current = await this.#stampBy(this.#lockedStamp, transaction, key);
    if (current === undefined) return refusals.unknownKey(key);
    if (current !== stamp) return refusals.stampChanged(key, stamp, current);
    const readOnly = await this.changedReadOnly(transaction, key, decoded);
    if (isRight && readOnly.length === 0) return { isChange: false };
    const problems = [...decoded.problems, ...readOnly.map(({ problem }) => problem)];
    const status = readOnly.reduce((all, { status: each }) => graver(all, each), decoded.status);
    const { values, unrelated } = decoded;
    const found = { problems, status, values, unrelated };
    const faults = await this.constraints.faults(transaction, found, key);
    return hasFaults(faults) ? refusals.faulty(faults, key) : { isChange: false };
  }

  /**
   * A whole entity may be sent as it was read, including read-only attributes; their values must be
   * the stored ones.
   */
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

interface UpdateOptions {
  /** `undefined` lets the entity keep its stamp and its timestamp. */
  readonly timestamp: string | undefined;
  /** ID of the session whose own locks do not count. */
  readonly session: string | undefined;
}

/** The values of a change of one entity. */
interface UpdateStatement extends UpdateOptions {
  /** Folded if it is a text. */
  readonly key: string | number;
  readonly stamp: number;
  readonly values: ReadonlyMap<string, StoredValue>;
  /** Values for read-only attributes, which must be the stored ones. */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
}

interface StoredAttribute {
  readonly definition: StorageDefinition;
  readonly derived: DerivedColumns | undefined;
}

/**
 * Makes a change of rows, which returns them, the whole statement of a request, if that is possible.
 * The statement returns the JSON of one entity; or the JSON of all, with commas between them, and
 * their keys as a JSON list.
 */
export type PlanDirect = (
  change: BuiltQuery | Sql,
  answer: 'one' | 'list',
) => Statement | undefined;

/** A statement, and its values. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly values: SqlValue[];
}

/** The first slots; the values follow. */
const keySlot = new Slot(0);
const stampSlot = new Slot(1);
const timestampSlot = new Slot(2);
const firstValueSlot = 3;

/**
 * Writes the statements that change entities of one dataclass: one for each set of attributes. The
 * check of the stamp and of the values and the change itself are one statement, so that of two
 * writers with one stamp only one can change the entity.
 */
class UpdateStatements {
  readonly #attributes: ReadonlyMap<string, StoredAttribute>;
  /** The table itself, including hidden entities. */
  readonly #from: From;
  readonly #source: Source;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly known: BoundedCache<Statement>,
    private readonly guard: LockGuard | undefined,
  ) {
    this.#attributes = new Map(
      dataclass.attributes
        .filter((each): each is StorageDefinition => each.kind === 'storage')
        .map((definition) => {
          return [definition.name, { definition, derived: derivedColumns(definition, dialect) }];
        }),
    );
    this.#from = new From(new Aliases(), unrestricted(dataclass), 'table');
    this.#source = this.#from.root;
  }

  /**
   * The statement, and its values. It changes one entity or none: none if there is no such key and
   * stamp, if a read-only attribute has another value, or if all the values are stored already. A
   * change of a locked entity fails, if the database can see its lock.
   * @param plan completes the statement; there may be none then
   */
  changing(
    { key, stamp, timestamp, session, values: given, readOnly }: UpdateStatement,
    plan?: PlanDirect,
  ): BoundStatement | undefined {
    const isSave = timestamp !== undefined;
    const kind = plan !== undefined ? 'direct' : isSave ? 'update' : 'compute';
    const name = `${kind} ${this.dataclass.name}\n${[...given.keys()].join()}\n${[...readOnly.keys()].join()}`;
    let statement = this.known.get(name);
    if (statement === undefined) {
      const query = this.#write(this.#named(given), this.#named(readOnly), isSave);
      statement =
        plan === undefined ? this.dialect.compile(query) : plan(query.returningAll(), 'one');
      if (statement === undefined) return undefined;
      this.known.set(name, statement);
    }
    const values: SqlValue[] = [key, stamp, timestamp ?? null];
    for (const [attribute, value] of given) {
      values.push(value);
      const derived = this.#attributes.get(attribute)?.derived;
      if (derived !== undefined) values.push(...derived.derive(value));
    }
    values.push(...readOnly.values());
    if (isSave && this.guard !== undefined) values.push(...this.guard.values(key, session));
    return { statement, values };
  }

  #named(values: UpdateStatement['values']): readonly StoredAttribute[] {
    return [...values.keys()].map((name) => this.#attributes.get(name) as StoredAttribute);
  }

  #write(
    changed: readonly StoredAttribute[],
    kept: readonly StoredAttribute[],
    isSave: boolean,
  ): UpdateQueryBuilder<AnyTables, string, string, unknown> {
    const source = this.#source;
    let next = firstValueSlot;
    const changes: [string, Sql][] = [];
    const differences: Sql[] = [];
    for (const { definition, derived } of changed) {
      const value = boundValue(this.dialect, definition, new Slot(next));
      differences.push(sql`${column(source, definition.column)} is distinct from ${value}`);
      changes.push([definition.column, value]);
      next += 1;
      for (const name of derived?.columns ?? []) {
        changes.push([name, sql`${new Slot(next)}`]);
        next += 1;
      }
    }
    if (isSave) changes.push(['__TIMESTAMP', sql`${timestampSlot}`]);
    const conditions = [
      ...this.#shown(),
      ...kept.map(({ definition }, index) => this.#isStored(definition, new Slot(next + index))),
      sql`(${sql.join(differences, sql` or `)})`,
    ];
    const { queries } = this.dataclass;
    const change = (isSave ? queries.update : queries.change)(
      this.dialect.db,
      sql`${keySlot}`,
      sql`${stampSlot}`,
      Object.fromEntries(changes),
    );
    const changing = conditions.reduce(
      (all, each) => all.where(each.$castTo<SqlBool>()),
      openedUpdate(change),
    );
    if (!isSave || this.guard === undefined) return changing;
    const lock = next + kept.length;
    const { name } = this.dataclass;
    const required = this.guard.call(name, sql`${new Slot(lock)}`, sql`${new Slot(lock + 1)}`);
    return changing.returning(required.as('__free'));
  }

  /** The statement that returns the stamp of the entity of a key, folded if it is a text. */
  get stamp(): Statement {
    return this.#select(column(this.#source, '__STAMP'));
  }

  /** The same; nobody else can change or delete the entity until the transaction ends. */
  get lockedStamp(): Statement {
    const key = column(this.#source, this.dataclass.key.column);
    const lock = this.dialect.lockRows?.(this.#source.alias, key, 'change');
    return this.#select(column(this.#source, '__STAMP'), lock);
  }

  /**
   * The statement that checks whether an entity has a value; its values are the key and that value.
   */
  hasValue(definition: StorageDefinition): Statement {
    return getOrInsertComputed(this.known, `has ${this.dataclass.name}.${definition.name}`, () =>
      this.#select(this.#isStored(definition, new Slot(1))),
    );
  }

  #isStored(definition: StorageDefinition, slot: Slot): Sql {
    const value = boundValue(this.dialect, definition, slot);
    return sql`${column(this.#source, definition.column)} is not distinct from ${value}`;
  }

  /** The statement that returns what is stored of an entity; its value is the key. */
  stored({ name, column: stored }: StorageDefinition): Statement {
    return getOrInsertComputed(this.known, `stored ${this.dataclass.name}.${name}`, () =>
      this.#select(column(this.#source, stored)),
    );
  }

  #select(value: Sql, lock?: Sql): Statement {
    const selecting = this.#from.selecting(value, ...this.#shown());
    const select: Select<AnyRow> = (query) =>
      lock === undefined ? selecting(query) : selecting(query).modifyEnd(lock);
    const byKey = this.dataclass.queries.byKey(this.dialect.db, sql`${keySlot}`, select);
    return this.dialect.compile(byKey);
  }

  /** A hidden entity cannot be changed. */
  #shown(): readonly Sql[] {
    const { restriction } = this.dataclass;
    return restriction === undefined ? [] : [restriction.condition(this.#source.alias)];
  }
}
