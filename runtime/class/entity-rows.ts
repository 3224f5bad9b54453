import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, selecting } from '../dataclass/source.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { decodeKey } from '../protocol/key.js';
import type { ClassHost, RowReader } from './class-host.js';
import type { EntityLayout } from './entity-layout.js';

/** Keys that one statement reads; their list is one value. */
const keysPerStatement = 10_000;

type EntityRow = readonly SqlValue[];

/**
 * Reads the rows of entities by their keys. A row holds every value of the layout, whatever the
 * session may read: properties are synchronous, and promoted code may read more, so privileges are
 * checked then (`EntityState.get`).
 */
export class EntityRows implements RowReader {
  readonly #byKey: Statement;
  readonly #byKeys: Statement;

  /** @param dataclass of the entities; that of the layout, or a view of it */
  constructor(
    private readonly host: ClassHost,
    private readonly dataclass: Dataclass,
    layout: EntityLayout,
  ) {
    const { dialect } = host.context.database;
    const one = new From(new Aliases(), dataclass, 'table');
    const oneColumns = sql.join(layout.columns(one));
    const byKey = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`);
    this.#byKey = dialect.compile(selecting(one.complete(byKey), oneColumns));
    const list = dialect.each(sql`${new Slot(0)}`, valueTypeOf(dataclass.key.type));
    const many = new From(new Aliases(), dataclass, { list });
    const manyColumns = sql.join(layout.columns(many));
    this.#byKeys = dialect.compile(sql`select ${manyColumns} ${many.clause}${many.order}`);
  }

  async byKey(key: string | number): Promise<EntityRow | undefined> {
    const { type } = this.dataclass.key;
    const stored = decodeKey(type, String(key));
    if (stored === undefined) return undefined;
    const { foldText } = this.host.context.database.dialect;
    const value = type === 'string' ? foldText(String(stored)) : stored;
    const [row] = await this.host.reading().rows(this.#byKey, [value]);
    return row;
  }

  async byKeys(keys: readonly (string | number)[]): Promise<readonly (EntityRow | undefined)[]> {
    const rows: (EntityRow | undefined)[] = [];
    for (let start = 0; start < keys.length; start += keysPerStatement) {
      const list = JSON.stringify(keys.slice(start, start + keysPerStatement));
      for (const row of await this.host.reading().rows(this.#byKeys, [list])) {
        // A stamp is never null: this key has no entity.
        rows.push(row[0] === null ? undefined : row);
      }
    }
    return rows;
  }
}
