import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { unrestricted } from '../dataclass/unrestricted.js';
import { Aliases, From, selecting } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { queryOf } from '../protocol/queries.js';
import type { StoredValue } from '../protocol/values.js';

/** Looks up which unique values are taken: the database names the first of them alone. */
export class UniqueValues {
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
   * @param own key of the entity that the values are for, where it exists
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
    // A value that an entity has which may not be seen is taken all the same.
    const { dialect, dataclass } = this;
    const from = new From(new Aliases(), unrestricted(dataclass), 'table');
    const { queries } = dataclass;
    const query = attribute === dataclass.key ? queries.byKey : queryOf(queries.by, attribute.name);
    if (query === undefined)
      throw new Error(`${dataclass.name} has no query for ${attribute.name}.`);
    const isOther = sql`${comparableColumn(dialect, from.root, dataclass.key)} is distinct from ${new Slot(1)}`;
    const taken = from.complete(query(dialect.db, sql`${new Slot(0)}`), isOther);
    const statement = dialect.compile(selecting(taken.limit(1), sql.lit(1)));
    this.#find.set(attribute.name, statement);
    return statement;
  }
}
