import { requireReadInCode } from '../dataclass/permissions.js';
import type { From } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import { storedValue } from '../protocol/values.js';
import type { DataclassCode, Entities, Rows } from './class-host.js';
import { EntityRows } from './entity-rows.js';
import { EntityState } from './entity-state.js';
import type { EntityObject } from './types.js';

/** Makes the entities of one dataclass, as instances of the user's class. */
export class DataclassEntities implements Entities {
  readonly allRows: Rows;
  readonly #defaults: readonly SqlValue[];

  /** @param make the user's class */
  constructor(
    private readonly code: DataclassCode,
    private readonly make: new (state: EntityState) => EntityObject,
  ) {
    this.allRows = new EntityRows(code.host, code.dataclass, code.layout);
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
    const rows = await this.#readable().byKeys(keys);
    return rows.map((row) => (row === undefined ? undefined : this.fromRow(row)));
  }

  async readRow(key: string | number): Promise<readonly SqlValue[] | undefined> {
    return this.#readable().byKey(key);
  }

  /** @throws PermissionError */
  #readable(): Rows {
    const { dataclass, rows } = this.code.seen();
    requireReadInCode(dataclass);
    return rows;
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
