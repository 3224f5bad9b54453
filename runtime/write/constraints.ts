import {
  type Dataclass,
  mayLeadNowhere,
  type ReferringRelation,
  unrestricted,
} from '../dataclass/dataclasses.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { ConstraintError, Transaction } from '../dialect/executor.js';
import { type Body, type Decoded, keyOf, type ReferredValues, relatedKey } from './decode.js';
import { type Faults, hasFaults, type Refusal, Refusals } from './refusals.js';
import { sql } from 'kysely';
import { Aliases } from '../dataclass/aliases.js';
import { column, From, referredColumn, selecting } from '../dataclass/source.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { boundValue, comparableColumn, comparableKey } from '../dataclass/comparable.js';
import type { Cache } from '../dialect/bounded-cache.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { queryOf } from '../protocol/queries.js';

/** Values of an entity, and what is wrong with them as far as no statement has to find it. */
type CheckedValues = Pick<Decoded, 'problems' | 'status' | 'values' | 'unrelated'>;

/** For values with which nothing was wrong before the database refused them. */
export const noFaults: Omit<CheckedValues, 'values'> = { problems: [], status: 0, unrelated: [] };

/**
 * What the values of an entity need from other rows: related entities, numbers of sequences, unique
 * values that are free.
 */
export class Constraints {
  readonly relations: RelatedKeys;
  readonly sequences: Sequences;
  readonly refusals: Refusals;
  readonly #uniqueValues: UniqueValues;
  readonly #heldValues: HeldValues;

  /** @param statements the cache of statements that change entities */
  constructor(dialect: Dialect, dataclass: Dataclass, statements: Cache<Statement>) {
    this.relations = new RelatedKeys(dialect, dataclass, statements);
    this.#heldValues = new HeldValues(dialect, dataclass, statements);
    this.sequences = new Sequences(dialect, dataclass);
    this.refusals = new Refusals(dataclass);
    this.#uniqueValues = new UniqueValues(dialect, dataclass, statements);
  }

  /**
   * All errors of the values of an entity, including conflicts with other entities.
   * @param existing key of the entity, if it exists
   */
  async faults(
    transaction: Transaction,
    { problems, status, values, unrelated }: CheckedValues,
    existing?: string | number,
  ): Promise<Faults> {
    return {
      problems,
      status,
      missing: [...unrelated, ...(await this.relations.missing(transaction, values))],
      taken: await this.#uniqueValues.taken(transaction, values, existing),
      held:
        existing === undefined ? [] : await this.#heldValues.held(transaction, values, existing),
    };
  }

  /** Whether the database itself checks the values as it stores them, without further statements. */
  isOneStatement({ values, problems, nullRelations, unrelated }: Decoded): boolean {
    const { relations, sequences } = this;
    const isKnown =
      !relations.leadingNowhere.some(({ foreignKey }) => nullRelations.has(foreignKey)) &&
      !relations.mustResolve(values);
    return problems.length + unrelated.length === 0 && isKnown && sequences.areNone;
  }

  /** The database names only the first constraint that an entity would break. */
  async refusedByDatabase(
    transaction: Transaction,
    error: ConstraintError,
    values: Decoded['values'],
    existing?: string | number,
  ): Promise<Refusal> {
    const { kind } = error;
    if (kind === 'unique' || kind === 'foreignKey') {
      const faults = await this.faults(transaction, { ...noFaults, values }, existing);
      if (hasFaults(faults)) return this.refusals.faulty(faults, existing);
    }
    return this.refusals.brokenRule(error, existing);
  }
}

/** Values whose foreign keys are as the database stores them, and relations that name no entity. */
type ResolvedRelations = Pick<Decoded, 'values' | 'unrelated'>;

/** Finds the entities that the to-one relations of one dataclass name. */
class RelatedKeys {
  readonly #relations: readonly RelatedEntityDefinition[];
  /** Relations whose keys need more than the database's own constraint, if there is one. */
  readonly #lookedUp: readonly RelatedEntityDefinition[];
  /** Relations that reference another attribute than the key. */
  readonly #references: readonly RelatedEntityDefinition[];
  /** To-one relations to a dataclass with `restrict`, which must lead to a visible entity. */
  readonly toRestricted: readonly RelatedEntityDefinition[];
  /** To-one relations that may be null although their foreign keys are not. */
  readonly leadingNowhere: readonly RelatedEntityDefinition[];

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly statements: Cache<Statement>,
  ) {
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    this.toRestricted = this.#relations.filter(
      (each) => each.onDelete !== 'none' && dataclass.target(each).restriction !== undefined,
    );
    this.leadingNowhere = this.#relations.filter((each) => mayLeadNowhere(dataclass, each));
    this.#lookedUp = this.#relations.filter(
      (each) => this.#hasTextKey(each) || this.toRestricted.includes(each),
    );
    this.#references = this.#relations.filter(({ references }) => references !== undefined);
  }

  /** The statement that finds what a relation references, by the entity's key or by that value. */
  #find(relation: RelatedEntityDefinition, by: 'key' | 'value'): Statement {
    const { dialect, dataclass, statements } = this;
    return getOrInsertComputed(statements, `by ${by} ${dataclass.name}.${relation.name}`, () =>
      referredStatement(dialect, dataclass, relation, by),
    );
  }

  /** Whether {@link referred} reads anything. */
  mustRefer(body: Body): boolean {
    return this.#references.some(
      ({ name }) => Object.hasOwn(body, name) && (relatedKey(body[name]) ?? null) !== null,
    );
  }

  /** What the relations of a body reference whose foreign keys do not hold the related key. */
  async referred(transaction: Pick<Transaction, 'value'>, body: Body): Promise<ReferredValues> {
    const referred = new Map<string, StoredValue | undefined>();
    for (const relation of this.#references) {
      if (!Object.hasOwn(body, relation.name)) continue;
      const target = this.dataclass.target(relation);
      const key = keyOf(target, relatedKey(body[relation.name]));
      if (key === undefined) continue;
      const compared = comparableKey(target, this.dialect, key);
      const find = this.#find(relation, 'key');
      referred.set(relation.name, (await transaction.value(find, [compared])) as StoredValue);
    }
    return referred;
  }

  /** Whether {@link resolve} reads anything. */
  mustResolve(values: ReadonlyMap<string, StoredValue>): boolean {
    return this.#lookedUp.some(({ foreignKey }) => (values.get(foreignKey) ?? null) !== null);
  }

  /**
   * A text key may come in another case than it is stored in; the foreign key gets it as it is
   * stored. A hidden entity cannot be related to.
   * @returns the values with the text keys, or the texts that are referenced, as they are stored, and
   * the relations that name no entity, as far as the database does not check them
   */
  async resolve(transaction: Transaction, resolved: ResolvedRelations): Promise<ResolvedRelations> {
    if (!this.mustResolve(resolved.values)) return resolved;
    const missing = [...resolved.unrelated];
    const values = new Map(resolved.values);
    for (const relation of this.#lookedUp) {
      const key = values.get(relation.foreignKey);
      if (typeof key !== 'string' && typeof key !== 'number') continue;
      const found = await this.#relatedKey(transaction, relation, key, values);
      if (typeof found === 'string') values.set(relation.foreignKey, found);
      else if (found === undefined && relation.onDelete !== 'none') missing.push(relation);
    }
    return { values, unrelated: missing };
  }

  /** Whether a read shows an entity for a stored foreign key. */
  async isShown(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    key: string | number,
  ): Promise<boolean> {
    const compared = this.#hasTextKey(relation) ? this.dialect.foldText(String(key)) : key;
    return (await transaction.value(this.#find(relation, 'value'), [compared])) !== undefined;
  }

  /** All relations that name no entity and have to. */
  async missing(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<RelatedEntityDefinition[]> {
    const missing: RelatedEntityDefinition[] = [];
    for (const relation of this.#relations) {
      const key = values.get(relation.foreignKey) ?? null;
      if (relation.onDelete === 'none' || key === null || key instanceof Uint8Array) continue;
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
      const own = values.get(this.dataclass.referenced(relation).name) ?? undefined;
      const isText = typeof own === 'string' && this.#hasTextKey(relation);
      if ((isText ? this.dialect.foldText(own) : own) === compared) return own;
    }
    return transaction.value(this.#find(relation, 'value'), [compared]);
  }

  #hasTextKey(relation: RelatedEntityDefinition): boolean {
    return this.dataclass.referenced(relation).type === 'string';
  }
}

/**
 * Finds the stored form of what a relation references in an entity, usually its key.
 * @param by the value of the statement: the entity's key, or the referenced value itself; folded if it is a text
 */
function referredStatement(
  dialect: Dialect,
  dataclass: Dataclass,
  relation: RelatedEntityDefinition,
  by: 'key' | 'value',
): Statement {
  const target = dataclass.target(relation);
  const from = new From(new Aliases(), target, 'table');
  const { queries } = target;
  const { references } = relation;
  const isByKey = by === 'key' || references === undefined;
  const query = isByKey ? queries.byKey : queryOf(queries.by, references);
  if (query === undefined)
    throw new Error(`${target.name} has no query for ${String(references)}.`);
  const select = from.selecting(referredColumn(from.root, relation));
  return dialect.compile(query(dialect.db, sql`${new Slot(0)}`, select));
}

/** Finds values of an entity that may not change, because other entities refer to them by references. */
class HeldValues {
  #references: readonly ReferringRelation[] | undefined;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly statements: Cache<Statement>,
  ) {}

  /**
   * The attributes that would change although entities refer to their values.
   * @param key of the entity
   */
  async held(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
    key: string | number,
  ): Promise<StorageDefinition[]> {
    const held = new Set<StorageDefinition>();
    const compared = comparableKey(this.dataclass, this.dialect, key);
    this.#references ??= this.dataclass
      .referring()
      .filter(({ relation }) => relation.references !== undefined);
    for (const { referring, relation } of this.#references) {
      const attribute = referring.referenced(relation);
      const value = values.get(attribute.name);
      if (value === undefined) continue;
      const statement = this.#statement(referring, relation);
      if ((await transaction.value(statement, [compared, value])) !== undefined)
        held.add(attribute);
    }
    return [...held];
  }

  #statement(referring: Dataclass, relation: RelatedEntityDefinition): Statement {
    return getOrInsertComputed(this.statements, `held ${referring.name}.${relation.name}`, () => {
      const { dialect } = this;
      const dataclass = unrestricted(this.dataclass);
      const aliases = new Aliases();
      const from = new From(aliases, dataclass, 'table');
      const others = new From(aliases, unrestricted(referring));
      const value = referredColumn(from.root, relation);
      const foreignKey = column(others.root, referring.foreignKey(relation).column);
      const isReferred = sql`exists (select 1 ${others.clause} where ${foreignKey} = ${value})`;
      const isChanged = sql`${value} is distinct from ${new Slot(1)}`;
      const select = from.selecting(sql.lit(1), isReferred, isChanged);
      return dialect.compile(dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`, select));
    });
  }
}

interface DrawnValues {
  readonly values: ReadonlyMap<string, StoredValue>;
}

interface EndedSequence {
  readonly ended: StorageDefinition;
}

/**
 * Numbers the attributes of one dataclass that are `generated: sequence` and no key; the table
 * draws those of the key. On PostgreSQL numbers are drawn outside of the transaction, so that a
 * rollback leaves a gap, as it does with generated keys.
 */
class Sequences {
  readonly #attributes: readonly StorageDefinition[];
  readonly #draw: Statement;
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

  /**
   * Gives a number to each attribute without one.
   * @returns the values with these numbers, or the attribute whose sequence has ended
   */
  async draw(
    transaction: Transaction,
    given: ReadonlyMap<string, StoredValue>,
  ): Promise<DrawnValues | EndedSequence> {
    if (this.areNone) return { values: given };
    const values = new Map(given);
    for (const attribute of this.#attributes) {
      if (values.get(attribute.name) !== null) continue;
      const drawn = await transaction.aside(this.#draw, [this.#nameOf(attribute)]);
      if (drawn === undefined) return { ended: attribute };
      values.set(attribute.name, Number(drawn));
    }
    return { values };
  }

  /**
   * Makes the sequences continue behind the numbers that a client gave to an entity, which is
   * stored by now.
   */
  async raise(transaction: Transaction, given: ReadonlyMap<string, StoredValue>): Promise<void> {
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
  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly statements: Cache<Statement>,
  ) {}

  /**
   * The attributes whose values another entity has.
   * @param own key of the entity with the values, if it exists; it keeps the values that are not given
   */
  async taken(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
    own: string | number | undefined,
  ): Promise<(readonly StorageDefinition[])[]> {
    const taken: (readonly StorageDefinition[])[] = [];
    const ownKey = this.#comparable(this.dataclass.key, own ?? null);
    for (const attributes of this.dataclass.unique) {
      const given = attributes.filter(({ name }) => values.has(name));
      const compared = given.map((each) => this.#comparable(each, values.get(each.name) ?? null));
      if (compared.length === 0 || compared.includes(null)) continue;
      const statement = this.#statement(attributes, given);
      const found = await transaction.value(statement, [...compared, ownKey]);
      if (found !== undefined) taken.push(attributes);
    }
    return taken;
  }

  #comparable({ type }: StorageDefinition, value: StoredValue): StoredValue {
    return type === 'string' && typeof value === 'string' ? this.dialect.foldText(value) : value;
  }

  /** @param given the attributes whose values are in slots; the others have their stored values */
  #statement(
    attributes: readonly StorageDefinition[],
    given: readonly StorageDefinition[],
  ): Statement {
    const names = [attributes, given].map((list) => list.map(({ name }) => name).join());
    const name = `taken ${this.dataclass.name}\n${names.join('\n')}`;
    return getOrInsertComputed(this.statements, name, () => this.#write(attributes, given));
  }

  #write(attributes: readonly StorageDefinition[], given: readonly StorageDefinition[]): Statement {
    const { dialect } = this;
    // A value of a hidden entity is taken all the same.
    const dataclass = unrestricted(this.dataclass);
    const aliases = new Aliases();
    const from = new From(aliases, dataclass, 'table');
    const ownKey = sql`${new Slot(given.length)}`;
    const stored = (attribute: StorageDefinition): Sql => {
      const own = new From(aliases, dataclass);
      const isOwn = sql`${comparableColumn(dialect, own.root, dataclass.key)} = ${ownKey}`;
      return sql`(select ${comparableColumn(dialect, own.root, attribute)} ${own.clause} where ${isOwn})`;
    };
    const conditions = attributes.map((each) => {
      const at = given.indexOf(each);
      const value = at === -1 ? stored(each) : boundValue(dialect, each, new Slot(at));
      return sql`${comparableColumn(dialect, from.root, each)} = ${value}`;
    });
    const isOther = sql`${comparableColumn(dialect, from.root, dataclass.key)} is distinct from ${ownKey}`;
    const all = from.complete(dataclass.queries.entities(dialect.db), ...conditions, isOther);
    return dialect.compile(selecting(all.limit(1), sql.lit(1)));
  }
}
