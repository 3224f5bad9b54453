import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { isIn, type Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/** Finds the entities that rows name by values of an attribute. */
export class Finder {
  /** Statements by the attribute that they compare, and the one that they read. */
  readonly #statements = new Map<StorageDefinition, Map<StorageDefinition, Statement>>();

  constructor(private readonly dialect: Dialect) {}

  /** Values that are equal in comparisons have equal texts. */
  comparable({ type }: StorageDefinition, value: SqlValue): string {
    return type === 'string' ? this.dialect.foldText(String(value)) : String(value);
  }

  /**
   * What entities have as the wanted attribute, by their values of another one in the form of
   * {@link comparable}.
   */
  async find(
    reader: Pick<Transaction, 'rows'>,
    { dataclass, by, wanted }: Search,
    values: readonly SqlValue[],
  ): Promise<Map<string, readonly SqlValue[]>> {
    const list = new Set(
      values.flatMap((each): (string | number)[] => {
        if (typeof each === 'number') return [each];
        // PostgreSQL has no text with this character.
        if (typeof each !== 'string' || each.includes('\0')) return [];
        return [by.type === 'string' ? this.dialect.foldText(each) : each];
      }),
    );
    const found = new Map<string, readonly SqlValue[]>();
    if (list.size === 0) return found;
    const statements = getOrInsertComputed(
      this.#statements,
      by,
      () => new Map<StorageDefinition, Statement>(),
    );
    const statement = getOrInsertComputed(statements, wanted, () =>
      this.#plan({ dataclass, by, wanted }),
    );
    const rows = await reader.rows(statement, [JSON.stringify([...list])]);
    for (const [value = null, own = null] of rows) {
      found.set(String(value), [...(found.get(String(value)) ?? []), own]);
    }
    return found;
  }

  #plan({ dataclass: { table }, by, wanted }: Search): Statement {
    const { dialect } = this;
    const column = sql.id(table, by.foldedColumn ?? by.column);
    const isPlainText = by.type === 'string' && by.foldedColumn === undefined;
    const compared = isPlainText ? dialect.fold(column) : column;
    const shown = by.type === 'decimal' ? dialect.decimalText(column, by.scale ?? 0) : compared;
    const isListed = isIn(dialect, compared, sql`${new Slot(0)}`, valueTypeOf(by.type));
    return dialect.compile(
      sql`select ${shown}, ${sql.id(table, wanted.column)} from ${sql.id(table)} where ${isListed}`,
    );
  }
}

interface Search {
  readonly dataclass: Dataclass;
  readonly by: StorageDefinition;
  readonly wanted: StorageDefinition;
}
