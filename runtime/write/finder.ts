import { comparableColumn } from '../dataclass/comparable.js';
import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import { Aliases } from '../dataclass/aliases.js';
import { column, From, keyColumn } from '../dataclass/source.js';
import { isIn, type Dialect, type Sql } from '../dialect/dialect.js';
import type { Rows, Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { sql } from 'kysely';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/** Finds the entities that rows name by values of an attribute, all of them with one statement. */
export class Finder {
  /** Statements by the attribute that they compare, and the one that they read. */
  readonly #statements = new Map<StorageDefinition, Map<StorageDefinition | 'locked', Statement>>();

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
    { dataclass, by, wanted }: Search & { readonly wanted: StorageDefinition },
    values: readonly SqlValue[],
  ): Promise<Map<string, readonly SqlValue[]>> {
    const found = new Map<string, readonly SqlValue[]>();
    const rows = await this.#rows(by, values, async (list) => {
      const statement = getOrInsertComputed(this.#statementsOf(by), wanted, () => {
        const from = new From(new Aliases(), unrestricted(dataclass));
        return this.#plan(from, by, [column(from.root, wanted.column)]);
      });
      return reader.rows(statement, [list]);
    });
    for (const [value = null, own = null] of rows) {
      found.set(String(value), [...(found.get(String(value)) ?? []), own]);
    }
    return found;
  }

  /**
   * The visible entities with values of a unique attribute, by these values in the form of
   * {@link comparable}. Nobody else can change the entities until the transaction ends.
   */
  async findToChange(
    transaction: Pick<Transaction, 'table'>,
    { dataclass, by }: Search,
    values: readonly SqlValue[],
  ): Promise<ReadonlyMap<string, FoundEntity>> {
    const rows = await this.#rows(by, values, async (list) => {
      const statement = getOrInsertComputed(this.#statementsOf(by), 'locked', () => {
        const from = new From(new Aliases(), dataclass);
        const key = keyColumn(from.root);
        const lock = this.dialect.lockRows?.(from.root.alias, key, 'change');
        return this.#plan(from, by, [key, column(from.root, '__STAMP')], lock);
      });
      return (await transaction.table(statement, [list])).rows;
    });
    return new Map(
      rows.map(([value = null, key, stamp]) => [
        String(value),
        { key: key as FoundEntity['key'], stamp: Number(stamp) },
      ]),
    );
  }

  #statementsOf(by: StorageDefinition): Map<StorageDefinition | 'locked', Statement> {
    return getOrInsertComputed(
      this.#statements,
      by,
      () => new Map<StorageDefinition | 'locked', Statement>(),
    );
  }

  /** @param read gets the values as a JSON list */
  async #rows(
    by: StorageDefinition,
    values: readonly SqlValue[],
    read: (list: string) => Promise<Rows>,
  ): Promise<Rows> {
    const list = new Set(
      values.flatMap((each): (string | number)[] => {
        if (typeof each === 'number') return [each];
        // PostgreSQL has no text with this character.
        if (typeof each !== 'string' || each.includes('\0')) return [];
        return [by.type === 'string' ? this.dialect.foldText(each) : each];
      }),
    );
    return list.size === 0 ? [] : read(JSON.stringify([...list]));
  }

  #plan(from: From, by: StorageDefinition, columns: readonly Sql[], lock: Sql = sql``): Statement {
    const { dialect } = this;
    const compared = comparableColumn(dialect, from.root, by);
    const shown = by.type === 'decimal' ? dialect.decimalText(compared, by.scale ?? 0) : compared;
    const isListed = isIn(dialect, compared, sql`${new Slot(0)}`, valueTypeOf(by.type));
    const selected = sql.join([shown, ...columns]);
    return dialect.compile(sql`select ${selected} ${from.clause} where ${isListed}${lock}`);
  }
}

interface Search {
  readonly dataclass: Dataclass;
  readonly by: StorageDefinition;
}

/** An entity that was found, with its stamp. */
export interface FoundEntity {
  readonly key: string | number;
  readonly stamp: number;
}

/** Whether one entity at most has a value of the attribute. */
export function isUnique({ key, unique }: StorageDefinition): boolean {
  return key === true || unique === true;
}
