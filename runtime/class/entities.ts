import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import { Aliases, From } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { decodeKey } from '../protocol/key.js';
import { storedValue } from '../protocol/values.js';
import type { DataclassCode, Entities } from './class-host.js';
import { EntityState } from './entity-state.js';
import type { EntityObject } from './types.js';

/** Keys that are read by one statement; their list is one value. */
const keysPerStatement = 10_000;

/** Makes the entities of one dataclass, as instances of the user's class. */
export class DataclassEntities implements Entities {
  readonly #byKey: Statement;
  readonly #byKeys: Statement;
  readonly #defaults: readonly SqlValue[];

  /** @param make the user's class */
  constructor(
    private readonly code: DataclassCode,
    private readonly make: new (state: EntityState) => EntityObject,
  ) {
    const { dialect } = code.host.context.database;
    const { dataclass } = code;
    const one = new From(new Aliases(), dataclass);
    const oneColumns = sql.join(this.columns(one));
    const key = comparableColumn(dialect, one.root, dataclass.key);
    this.#byKey = dialect.compile(
      sql`select ${oneColumns} ${one.clause} where ${key} = ${new Slot(0)}`,
    );
    const list = dialect.each(sql`${new Slot(0)}`);
    const many = new From(new Aliases(), dataclass, { list });
    const manyColumns = sql.join(this.columns(many));
    this.#byKeys = dialect.compile(
      sql`select ${manyColumns} ${many.clause} order by ${many.position}`,
    );
    this.#defaults = defaultRow(code);
  }

  columns(from: From): readonly Sql[] {
    return this.code.layout.columns(from);
  }

  fromRow(row: readonly SqlValue[]): EntityObject {
    return new this.make(new EntityState(this.code, row, false));
  }

  create(): EntityObject {
    return new this.make(new EntityState(this.code, this.#defaults, true));
  }

  async load(key: string | number): Promise<EntityObject | undefined> {
    const row = await this.readRow(key);
    return row === undefined ? undefined : this.fromRow(row);
  }

  async loadAll(
    keys: readonly (string | number)[],
  ): Promise<readonly (EntityObject | undefined)[]> {
    const entities: (EntityObject | undefined)[] = [];
    for (let start = 0; start < keys.length; start += keysPerStatement) {
      const list = JSON.stringify(keys.slice(start, start + keysPerStatement));
      for (const row of await this.code.host.reading().rows(this.#byKeys, [list])) {
        // A stamp is never null: this key has no entity.
        entities.push(row[0] === null ? undefined : this.fromRow(row));
      }
    }
    return entities;
  }

  async readRow(key: string | number): Promise<readonly SqlValue[] | undefined> {
    const { host, dataclass } = this.code;
    const { type } = dataclass.key;
    const stored = decodeKey(type, String(key));
    if (stored === undefined) return undefined;
    const { foldText } = host.context.database.dialect;
    const value = type === 'string' ? foldText(String(stored)) : stored;
    const [row] = await host.reading().rows(this.#byKey, [value]);
    return row;
  }
}

/** The row of an entity that is not saved yet: what the model says, null for anything else. */
function defaultRow({ layout }: DataclassCode): readonly SqlValue[] {
  const row: SqlValue[] = new Array<SqlValue>(layout.width).fill(null);
  row[0] = 0;
  for (const { attribute, index } of layout.fields) {
    if (attribute.kind !== 'storage' || attribute.default === undefined) continue;
    const result = storedValue(attribute, attribute.default);
    if (result.ok) row[index] = result.value;
  }
  return row;
}
