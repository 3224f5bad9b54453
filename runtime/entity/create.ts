import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { errorCodes, type ProtocolError, protocolError } from '../protocol/errors.js';
import { fold } from '../protocol/fold.js';
import type { StoredValue } from '../protocol/values.js';
import { decodeNewEntity } from './decode.js';
import { type InsertPlan, planInsert } from './insert.js';

/** What became of an entity of a body. */
export type CreateResult =
  | { readonly key: string | number }
  | {
      readonly problems: readonly ProtocolError[];
      /** HTTP status, when the entity stood alone in the body. */
      readonly status: number;
      /** `status` of `__STATUS` (protocol section 11.4). */
      readonly entityStatus: number;
    };

/** Stores new entities of one dataclass. */
export class EntityCreator {
  readonly #insert: InsertPlan;
  readonly #relations: readonly RelatedEntityDefinition[];
  readonly #findRelated = new Map<string, Statement>();
  readonly #nextSequence: Statement;
  readonly #sequences: readonly StorageDefinition[];

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    this.#insert = planInsert(dialect, dataclass);
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    for (const relation of this.#relations) {
      this.#findRelated.set(relation.name, planFindKey(dialect, dataclass.target(relation)));
    }
    this.#sequences = dataclass.attributes.filter(
      (each): each is StorageDefinition =>
        each.kind === 'storage' && each.generated === 'sequence' && each.key !== true,
    );
    this.#nextSequence = dialect.compile(
      sql`insert into "__datastore" ("name", "value") values (${new Slot(0)}, 1) on conflict ("name") do update set "value" = "value" + 1 returning "value"`,
    );
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
    if (missing.length > 0) return this.#unknownRelated(missing);
    await this.#drawSequences(transaction, values);
    try {
      const bound = this.#insert.values(values, timestamp);
      const { insertedKey } = await transaction.run(this.#insert.statement, bound);
      const key = values.get(this.dataclass.key.name);
      return { key: key ?? insertedKey };
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
      const { foreignKey, target } = relation;
      const given = values.get(foreignKey);
      if (typeof given !== 'string' || this.dataclass.target(relation).key.type !== 'string')
        continue;
      const found = await this.#storedKey(transaction, relation, given);
      if (typeof found === 'string') values.set(foreignKey, found);
      // An entity may be related to itself before it is stored.
      else if (target !== this.dataclass.name || given !== values.get(this.dataclass.key.name)) {
        missing.push(relation);
      }
    }
    return missing;
  }

  #storedKey(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    key: SqlValue,
  ): Promise<SqlValue | undefined> {
    const statement = this.#findRelated.get(relation.name) as Statement;
    const isText = this.dataclass.target(relation).key.type === 'string';
    return transaction.value(statement, [isText ? fold(String(key)) : key]);
  }

  async #drawSequences(transaction: Transaction, values: Map<string, StoredValue>): Promise<void> {
    for (const { name } of this.#sequences) {
      if (values.get(name) !== null) continue;
      const sequence = `sequence ${this.dataclass.table}.${name}`;
      values.set(name, Number(await transaction.value(this.#nextSequence, [sequence])));
    }
  }

  async #refused(
    transaction: Transaction,
    error: ConstraintError,
    values: ReadonlyMap<string, StoredValue>,
    body: Readonly<Record<string, unknown>>,
  ): Promise<CreateResult> {
    if (error.kind === 'foreignKey') {
      const missing: RelatedEntityDefinition[] = [];
      for (const relation of this.#relations) {
        const key = values.get(relation.foreignKey) ?? null;
        if (key === null) continue;
        if ((await this.#storedKey(transaction, relation, key)) === undefined)
          missing.push(relation);
      }
      return this.#unknownRelated(missing);
    }
    const names = error.columns.map((column) => this.#attributeOfColumn(column));
    if (error.kind === 'unique') {
      return names.includes(this.dataclass.key.name) && body['__KEY'] !== undefined
        ? this.#existingKey(String(values.get(this.dataclass.key.name)))
        : this.#notUnique(names);
    }
    const problems = [protocolError('valueRule', brokenRule(error, names)), ...this.#summary()];
    return { problems, status: errorCodes.valueRule.status, entityStatus: 8 };
  }

  #attributeOfColumn(column: string): string {
    const attribute = this.dataclass.attributes.find(
      (each) => each.kind === 'storage' && (each.column === column || each.foldedColumn === column),
    );
    return attribute === undefined || attribute.exposed === false ? 'An attribute' : attribute.name;
  }

  #unknownRelated(relations: readonly RelatedEntityDefinition[]): CreateResult {
    const problems = relations.map(({ name, target }) =>
      protocolError(
        'keyNotFound',
        `${name} names an entity that cannot be found in the "${target}" dataclass.`,
      ),
    );
    return { problems: [...problems, ...this.#summary()], status: 422, entityStatus: 4 };
  }

  #notUnique(names: readonly string[]): CreateResult {
    const text = `${names.join(', ')} must be unique: another entity has this value.`;
    return {
      problems: [protocolError('valueRule', text), ...this.#summary()],
      status: 409,
      entityStatus: 4,
    };
  }

  /** An entity with this key exists: without its stamp it is not overwritten (protocol section 11.2). */
  #existingKey(key: string): CreateResult {
    const { name } = this.dataclass;
    return {
      problems: [
        protocolError(
          'stampChanged',
          `An entity with the key "${key}" exists in the "${name}" dataclass, and no __STAMP was sent.`,
        ),
        protocolError(
          'cannotSave',
          `The record of the entity "${key}" of "${name}" cannot be saved.`,
        ),
        protocolError('entityNotSaved', `The entity "${key}" of "${name}" was not saved.`),
      ],
      status: 409,
      entityStatus: 2,
    };
  }

  #summary(): ProtocolError[] {
    const { name } = this.dataclass;
    return [
      protocolError('cannotSave', `The record of the new entity of "${name}" cannot be saved.`),
      protocolError('newEntityNotSaved', `The new entity of "${name}" was not saved.`),
    ];
  }
}

function brokenRule({ kind }: ConstraintError, names: readonly string[]): string {
  if (kind === 'expression') return 'A computed attribute cannot be computed from these values.';
  const rule = kind === 'notNull' ? 'must not be null' : 'breaks a constraint of the database';
  return `${names.join(', ')} ${rule}.`;
}

/** Finds the key of an entity as it is stored; its value is the key, folded if it is a text. */
function planFindKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return dialect.compile(
    sql`select ${keyColumn(from.root)} ${from.clause} where ${key} = ${new Slot(0)}`,
  );
}
