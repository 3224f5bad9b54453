import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { decodeNewEntity } from './decode.js';
import { type InsertPlan, planInsert } from './insert.js';
import { attributeOfColumn, type Refusal, Refusals } from './refusals.js';
import { Sequences } from './sequences.js';

/** What became of an entity of a body. */
export type CreateResult = { readonly key: string | number } | Refusal;

/** Stores new entities of one dataclass. */
export class EntityCreator {
  readonly #insert: InsertPlan;
  readonly #relations: readonly RelatedEntityDefinition[];
  readonly #findRelated = new Map<string, Statement>();
  readonly #sequences: Sequences;
  readonly #refusals: Refusals;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    this.#insert = planInsert(dialect, dataclass);
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    for (const relation of this.#relations) {
      this.#findRelated.set(relation.name, planFindKey(dialect, dataclass.target(relation)));
    }
    this.#sequences = new Sequences(dialect, dataclass);
    this.#refusals = new Refusals(dataclass);
  }

  /** Stores one entity, or tells everything that is wrong with it; the transaction goes on either way. */
  async create(
    transaction: Transaction,
    body: Readonly<Record<string, unknown>>,
    timestamp: string,
  ): Promise<CreateResult> {
    const decoded = decodeNewEntity(this.dataclass, body);
    if ('problems' in decoded) return { ...decoded, entityStatus: 8 };
    const values = new Map(decoded.values);
    const missing = await this.#resolveTextKeys(transaction, values);
    if (missing.length > 0) return this.#refusals.unknownRelated(missing);
    const ended = await this.#sequences.draw(transaction, values);
    if (ended !== undefined) return this.#refusals.sequenceEnded(ended);
    try {
      const bound = this.#insert.values(values, timestamp);
      const { insertedKey } = await transaction.run(this.#insert.statement, bound);
      await this.#sequences.raise(transaction, decoded.values);
      return { key: this.#ownKey(values) ?? insertedKey };
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      return this.#refused(transaction, error, values, body);
    }
  }

  /** A text key may come in another case than it is stored in; the foreign key holds it as it is stored. */
  async #resolveTextKeys(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Promise<RelatedEntityDefinition[]> {
    const missing: RelatedEntityDefinition[] = [];
    for (const relation of this.#relations) {
      const given = values.get(relation.foreignKey);
      if (typeof given !== 'string' || !this.#hasTextKey(relation)) continue;
      const found = await this.#relatedKey(transaction, relation, given, values);
      if (typeof found === 'string') values.set(relation.foreignKey, found);
      else missing.push(relation);
    }
    return missing;
  }

  /** The related key as it is stored; an entity may be related to itself before it is. */
  async #relatedKey(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    key: string | number,
    values: ReadonlyMap<string, StoredValue>,
  ): Promise<SqlValue | undefined> {
    const compared = this.#hasTextKey(relation) ? this.dialect.foldText(String(key)) : key;
    if (relation.target === this.dataclass.name) {
      const own = this.#ownKey(values);
      const isText = typeof own === 'string' && this.#hasTextKey(relation);
      if ((isText ? this.dialect.foldText(own) : own) === compared) return own;
    }
    return transaction.value(this.#findRelated.get(relation.name) as Statement, [compared]);
  }

  #hasTextKey(relation: RelatedEntityDefinition): boolean {
    return this.dataclass.target(relation).key.type === 'string';
  }

  /** The key, but for one that the database draws. */
  #ownKey(values: ReadonlyMap<string, StoredValue>): string | number | undefined {
    return values.get(this.dataclass.key.name) ?? undefined;
  }

  async #refused(
    transaction: Transaction,
    error: ConstraintError,
    values: ReadonlyMap<string, StoredValue>,
    body: Readonly<Record<string, unknown>>,
  ): Promise<Refusal> {
    if (error.kind === 'foreignKey') {
      const missing: RelatedEntityDefinition[] = [];
      for (const relation of this.#relations) {
        const key = values.get(relation.foreignKey) ?? null;
        if (key === null) continue;
        if ((await this.#relatedKey(transaction, relation, key, values)) === undefined)
          missing.push(relation);
      }
      return this.#refusals.unknownRelated(missing);
    }
    if (error.kind !== 'unique') return this.#refusals.brokenRule(error);
    const isKey = attributeOfColumn(this.dataclass, error.column) === this.dataclass.key;
    return isKey && body['__KEY'] !== undefined
      ? this.#refusals.existingKey(String(this.#ownKey(values)))
      : this.#refusals.notUnique(error.column);
  }
}

/** Finds the key of an entity as it is stored; its value is the key, folded if it is a text. */
function planFindKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return dialect.compile(
    sql`select ${keyColumn(from.root)} ${from.clause} where ${key} = ${new Slot(0)}`,
  );
}
