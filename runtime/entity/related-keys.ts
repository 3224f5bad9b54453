import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, selecting, keyColumn } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';

const none: readonly RelatedEntityDefinition[] = [];

/** Looks up the entities that the to-one relations of one dataclass name. */
export class RelatedKeys {
  readonly #relations: readonly RelatedEntityDefinition[];
  /** Those whose keys the database's own constraint says too little about. */
  readonly #lookedUp: readonly RelatedEntityDefinition[];
  readonly #find = new Map<string, Statement>();
  /** To-one relations to a dataclass of which entities may be hidden. */
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

  /**
   * A text key may come in another case than it is stored in; the foreign key holds it as it is stored. An entity that may not
   * be seen is none that others could be related to.
   * @param values of one entity; its text keys are replaced
   * @returns the relations that name no entity, as far as the database does not tell itself
   */
  resolve(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Pending<readonly RelatedEntityDefinition[]> {
    // Most changes are of no relation, and go on at once.
    return this.#lookedUp.some(({ foreignKey }) => (values.get(foreignKey) ?? null) !== null)
      ? this.#resolveAll(transaction, values)
      : none;
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

  /** Whether an entity may be seen that is related by a key as it is stored. */
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

  /** The related key as it is stored; an entity may be related to itself before it is. */
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

/** Finds the key of an entity as it is stored; its value is the key, folded if it is a text. */
function planFindKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass, 'table');
  const byKey = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`);
  return dialect.compile(selecting(from.complete(byKey), keyColumn(from.root)));
}
