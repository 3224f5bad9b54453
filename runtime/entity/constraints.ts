import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { ConstraintError, Transaction } from '../dialect/executor.js';
import type { Decoded } from './decode.js';
import { type Faults, type Refusal, Refusals } from './refusals.js';
import { sql } from 'kysely';
import { Aliases, From, selecting, keyColumn } from '../dataclass/source.js';
import type { Pending } from '../dialect/pending.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { boundValue, comparableColumn } from '../dataclass/comparable.js';
import { queryOf } from '../protocol/queries.js';

/**
 * What the values of an entity need from other rows: related entities, numbers of sequences, unique
 * values that are free.
 */
export class Constraints {
  readonly relations: RelatedKeys;
  readonly sequences: Sequences;
  readonly refusals: Refusals;
  readonly #uniqueValues: UniqueValues;

  constructor(dialect: Dialect, dataclass: Dataclass) {
    this.relations = new RelatedKeys(dialect, dataclass);
    this.sequences = new Sequences(dialect, dataclass);
    this.refusals = new Refusals(dataclass);
    this.#uniqueValues = new UniqueValues(dialect, dataclass);
  }

  /**
   * All errors of the values of an entity, including conflicts with other entities.
   * @param existing key of the entity, if it exists
   */
  async faults(
    transaction: Transaction,
    { problems, status, values }: Pick<Decoded, 'problems' | 'status' | 'values'>,
    existing?: string | number,
  ): Promise<Faults> {
    return {
      problems,
      status,
      missing: await this.relations.missing(transaction, values),
      taken: await this.#uniqueValues.taken(transaction, values, existing),
    };
  }

  /** Whether the database itself checks the values as it stores them, without further statements. */
  isOneStatement({ values, problems }: Decoded): boolean {
    const { relations, sequences } = this;
    const isKnown = relations.toRestricted.length === 0 && !relations.mustResolve(values);
    return problems.length === 0 && isKnown && sequences.areNone;
  }

  /** The database names only the first constraint that an entity would break. */
  async refusedByDatabase(
    transaction: Transaction,
    error: ConstraintError,
    decoded: Decoded,
    existing?: string | number,
  ): Promise<Refusal> {
    const { kind } = error;
    if (kind === 'unique' || kind === 'foreignKey') {
      const faults = await this.faults(transaction, decoded, existing);
      if (faults.missing.length + faults.taken.length > 0) {
        return this.refusals.faulty(faults, existing);
      }
    }
    return this.refusals.brokenRule(error, existing);
  }
}

const none: readonly RelatedEntityDefinition[] = [];

/** Finds the entities that the to-one relations of one dataclass name. */
class RelatedKeys {
  readonly #relations: readonly RelatedEntityDefinition[];
  /** Relations whose keys need more than the database's own constraint. */
  readonly #lookedUp: readonly RelatedEntityDefinition[];
  readonly #find = new Map<string, Statement>();
  /** To-one relations to a dataclass with `restrict`. */
  readonly toRestricted: readonly RelatedEntityDefinition[];

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    this.#lookedUp = this.#relations.filter(
      (each) => this.#hasTextKey(each) || dataclass.target(each).restriction !== undefined,
    );
    this.toRestricted = this.#relations.filter(
      (each) => dataclass.target(each).restriction !== undefined,
    );
    for (const relation of this.#relations) {
      this.#find.set(relation.name, planFindKey(dialect, dataclass.target(relation)));
    }
  }

  /** Whether {@link resolve} reads anything. */
  mustResolve(values: ReadonlyMap<string, StoredValue>): boolean {
    return this.#lookedUp.some(({ foreignKey }) => (values.get(foreignKey) ?? null) !== null);
  }

  /**
   * A text key may come in another case than it is stored in; the foreign key gets it as it is
   * stored. A hidden entity cannot be related to.
   * @param values of one entity; its text keys are replaced
   * @returns the relations that name no entity, as far as the database does not check them
   */
  resolve(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Pending<readonly RelatedEntityDefinition[]> {
    // Most changes contain no relation, and continue at once.
    return this.mustResolve(values) ? this.#resolveAll(transaction, values) : none;
  }

  async #resolveAll(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Promise<readonly RelatedEntityDefinition[]> {
    const missing: RelatedEntityDefinition[] = [];
    for (const relation of this.#lookedUp) {
      const given = values.get(relation.foreignKey);
      if (typeof given !== 'string' && typeof given !== 'number') continue;
      const found = await this.#relatedKey(transaction, relation, given, values);
      if (typeof found === 'string') values.set(relation.foreignKey, found);
      else if (found === undefined) missing.push(relation);
    }
    return missing;
  }

  /** Whether the entity with a stored key is visible. */
  async isShown(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    key: string | number,
  ): Promise<boolean> {
    const compared = this.#hasTextKey(relation) ? this.dialect.foldText(String(key)) : key;
    const find = this.#find.get(relation.name) as Statement;
    return (await transaction.value(find, [compared])) !== undefined;
  }

  /** All relations that name no entity. */
  async missing(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<RelatedEntityDefinition[]> {
    const missing: RelatedEntityDefinition[] = [];
    for (const relation of this.#relations) {
      const key = values.get(relation.foreignKey) ?? null;
      if (key === null || key instanceof Uint8Array) continue;
      const found = await this.#relatedKey(transaction, relation, key, values);
      if (found === undefined) missing.push(relation);
    }
    return missing;
  }

  /** The related key as it is stored; an entity may be related to itself before it is stored. */
  async #relatedKey(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    key: string | number,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<SqlValue | undefined> {
    const compared = this.#hasTextKey(relation) ? this.dialect.foldText(String(key)) : key;
    if (relation.target === this.dataclass.name) {
      const own = values.get(this.dataclass.key.name) ?? undefined;
      const isText = typeof own === 'string' && this.#hasTextKey(relation);
      if ((isText ? this.dialect.foldText(own) : own) === compared) return own;
    }
    return transaction.value(this.#find.get(relation.name) as Statement, [compared]);
  }

  #hasTextKey(relation: RelatedEntityDefinition): boolean {
    return this.dataclass.target(relation).key.type === 'string';
  }
}

/** Finds the stored form of an entity's key; its value is the key, folded if it is a text. */
function planFindKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass, 'table');
  const byKey = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`);
  return dialect.compile(selecting(from.complete(byKey), keyColumn(from.root)));
}

/**
 * Numbers the attributes of one dataclass that are `generated: sequence` and no key; the table
 * draws those of the key. On PostgreSQL numbers are drawn outside of the transaction, so that a
 * rollback leaves a gap, as it does with generated keys.
 */
class Sequences {
  readonly #attributes: readonly StorageDefinition[];
  readonly #draw: Statement;
  readonly #ended: Statement;
  readonly #raise: Statement;

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    this.#attributes = dataclass.attributes.filter(
      (each): each is StorageDefinition =>
        each.kind === 'storage' && each.generated === 'sequence' && each.key !== true,
    );
    const name = sql`${new Slot(0)}`;
    const value = sql.id('__datastore', 'value');
    const last = sql.lit(Number.MAX_SAFE_INTEGER);
    this.#ended = dialect.compile(
      sql`select 1 from "__datastore" where "name" = ${name} and ${value} >= ${last}`,
    );
    this.#draw = dialect.compile(
      sql`insert into "__datastore" ("name", "value") values (${name}, 1) on conflict ("name") do update set "value" = ${value} + 1 where ${value} < ${last} returning "value"`,
    );
    this.#raise = dialect.compile(
      sql`insert into "__datastore" ("name", "value") values (${name}, ${dialect.integer(sql`${new Slot(1)}`)}) on conflict ("name") do update set "value" = "excluded"."value" where ${value} < "excluded"."value" returning "value"`,
    );
  }

  get areNone(): boolean {
    return this.#attributes.length === 0;
  }

  /** The attribute that {@link draw} would return; draws nothing. */
  async ended(
    transaction: Pick<Transaction, 'value'>,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<StorageDefinition | undefined> {
    for (const attribute of this.#attributes) {
      if (values.get(attribute.name) !== null) continue;
      const isEnded = await transaction.value(this.#ended, [this.#nameOf(attribute)]);
      if (isEnded !== undefined) return attribute;
    }
    return undefined;
  }

  /**
   * Gives a number to each attribute without one; returns the attribute whose sequence is used up.
   */
  draw(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Pending<StorageDefinition | undefined> {
    return this.#attributes.length === 0 ? undefined : this.#drawAll(transaction, values);
  }

  /** The argument of {@link raise} for an entity: its values before numbers are drawn for it. */
  given(values: ReadonlyMap<string, StoredValue>): ReadonlyMap<string, StoredValue> {
    return this.#attributes.length === 0 ? values : new Map(values);
  }

  async #drawAll(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Promise<StorageDefinition | undefined> {
    for (const attribute of this.#attributes) {
      if (values.get(attribute.name) !== null) continue;
      const drawn = await transaction.aside(this.#draw, [this.#nameOf(attribute)]);
      if (drawn === undefined) return attribute;
      values.set(attribute.name, Number(drawn));
    }
    return undefined;
  }

  /**
   * Makes the sequences continue behind the numbers that a client gave to an entity, which is
   * stored by now.
   */
  raise(transaction: Transaction, given: ReadonlyMap<string, StoredValue>): Pending<void> {
    return this.#attributes.length === 0 ? undefined : this.#raiseAll(transaction, given);
  }

  async #raiseAll(
    transaction: Transaction,
    given: ReadonlyMap<string, StoredValue>,
  ): Promise<void> {
    for (const attribute of this.#attributes) {
      const value = given.get(attribute.name);
      if (typeof value !== 'number' || value < 1) continue;
      await transaction.aside(this.#raise, [this.#nameOf(attribute), value]);
    }
  }

  #nameOf({ name }: StorageDefinition): string {
    return `sequence ${this.dataclass.table}.${name}`;
  }
}

/** Finds which unique values are taken: the database names only the first of them. */
class UniqueValues {
  readonly #attributes: readonly StorageDefinition[];
  readonly #find = new Map<string, Statement>();

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    this.#attributes = dataclass.attributes.filter(
      (each): each is StorageDefinition =>
        each.kind === 'storage' && (each.unique === true || each.key === true),
    );
  }

  /**
   * The attributes whose values another entity has.
   * @param own key of the entity with the values, if it exists
   */
  async taken(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
    own: string | number | undefined,
  ): Promise<StorageDefinition[]> {
    const taken: StorageDefinition[] = [];
    const ownKey = this.#comparable(this.dataclass.key, own ?? null);
    for (const attribute of this.#attributes) {
      const value = values.get(attribute.name) ?? null;
      if (value === null) continue;
      const compared = this.#comparable(attribute, value);
      const found = await transaction.value(this.#statement(attribute), [compared, ownKey]);
      if (found !== undefined) taken.push(attribute);
    }
    return taken;
  }

  #comparable({ type }: StorageDefinition, value: StoredValue): StoredValue {
    return type === 'string' && typeof value === 'string' ? this.dialect.foldText(value) : value;
  }

  #statement(attribute: StorageDefinition): Statement {
    const known = this.#find.get(attribute.name);
    if (known !== undefined) return known;
    // A value of a hidden entity is taken all the same.
    const { dialect, dataclass } = this;
    const from = new From(new Aliases(), unrestricted(dataclass), 'table');
    const { queries } = dataclass;
    const query = attribute === dataclass.key ? queries.byKey : queryOf(queries.by, attribute.name);
    if (query === undefined)
      throw new Error(`${dataclass.name} has no query for ${attribute.name}.`);
    const isOther = sql`${comparableColumn(dialect, from.root, dataclass.key)} is distinct from ${new Slot(1)}`;
    const value = boundValue(dialect, attribute, new Slot(0));
    const taken = from.complete(query(dialect.db, value), isOther);
    const statement = dialect.compile(selecting(taken.limit(1), sql.lit(1)));
    this.#find.set(attribute.name, statement);
    return statement;
  }
}
