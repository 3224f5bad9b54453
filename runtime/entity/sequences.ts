import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';

/** Numbers the attributes of one dataclass that are `generated: sequence` and no key, whose numbers the table itself draws. */
export class Sequences {
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
      sql`insert into "__datastore" ("name", "value") values (${name}, ${dialect.integer(sql`${new Slot(1)}`)}) on conflict ("name") do update set "value" = "excluded"."value" where ${value} < "excluded"."value"`,
    );
  }

  /** The attribute that {@link draw} would answer; nothing is drawn. */
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

  /** Gives a number to each attribute that has none; answers the attribute whose sequence has no further number. */
  draw(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Pending<StorageDefinition | undefined> {
    return this.#attributes.length === 0 ? undefined : this.#drawAll(transaction, values);
  }

  /** What {@link raise} is told of an entity: its values before numbers are drawn for it. */
  given(values: ReadonlyMap<string, StoredValue>): ReadonlyMap<string, StoredValue> {
    return this.#attributes.length === 0 ? values : new Map(values);
  }

  async #drawAll(
    transaction: Transaction,
    values: Map<string, StoredValue>,
  ): Promise<StorageDefinition | undefined> {
    for (const attribute of this.#attributes) {
      if (values.get(attribute.name) !== null) continue;
      const drawn = await transaction.value(this.#draw, [this.#nameOf(attribute)]);
      if (drawn === undefined) return attribute;
      values.set(attribute.name, Number(drawn));
    }
    return undefined;
  }

  /** Lets the sequences go on behind the numbers that a client gave for an entity, which is stored by now. */
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
      await transaction.run(this.#raise, [this.#nameOf(attribute), value]);
    }
  }

  #nameOf({ name }: StorageDefinition): string {
    return `sequence ${this.dataclass.table}.${name}`;
  }
}
