import { type AliasedExpression, sql, type SqlBool, type UpdateQueryBuilder } from 'kysely';
import type { LockGuard } from '../access/locks.js';
import { boundValue, comparableColumn, comparableKey } from '../dataclass/comparable.js';
import {
  type Dataclass,
  ownRelations,
  unrestricted,
  type Source,
} from '../dataclass/dataclasses.js';
import { Aliases } from '../dataclass/aliases.js';
import { column, From, keyColumn } from '../dataclass/source.js';
import type { Cache } from '../dialect/bounded-cache.js';
import { type BuiltQuery, openedInsert, openedUpdate } from '../dialect/compile.js';
import { isIn, type Dialect, type Sql } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { isWellFormed } from '../protocol/own-text.js';
import type { AnyRow, AnyTables, Select } from '../protocol/queries.js';
import type { StoredValue } from '../protocol/values.js';
import type { Decoded } from './decode.js';
import { type DerivedColumns, derivedColumns } from './derived-columns.js';

/** How to store a dataclass's new entities: one statement for all of them. */
export interface InsertStatement {
  readonly statement: Statement;
  /** The values to bind for an entity that is created at `timestamp`. */
  readonly values: (entity: ReadonlyMap<string, StoredValue>, timestamp: string) => SqlValue[];
  /**
   * Stores the entities of {@link rows}, and returns their columns. None if the database has no such
   * statement, or JSON cannot hold each value.
   */
  readonly together: (dialect: Dialect) => Sql | undefined;
  /** The values to bind for entities that are created together. */
  readonly rows: (entities: readonly Pick<Decoded, 'values'>[], timestamp: string) => SqlValue[];
}

/** JSON has no bytes, and no arrays in the form of a column. */
const notInJson: ReadonlySet<string> = new Set(['image', 'blob', 'vector']);

export function insertStatement(dialect: Dialect, dataclass: Dataclass): InsertStatement {
  const stored = dataclass.attributes.filter(
    (each): each is StorageDefinition => each.kind === 'storage',
  );
  const derived = stored.flatMap((each) => derivedColumns(each, dialect) ?? []);
  const columns = [
    ...stored.map((each) => each.column),
    ...derived.flatMap((each) => each.columns),
    '__STAMP',
    '__TIMESTAMP',
  ];
  const { key } = dataclass;
  const drawnKey = key.generated === 'sequence' ? dialect.insertedKey : undefined;
  const row = columns.map((name, index) => {
    const slot = boundValue(dialect, stored[index], new Slot(index));
    const isDrawn = drawnKey !== undefined && name === key.column;
    return [name, isDrawn ? drawnKey(slot, dataclass.table, name) : slot] as const;
  });
  const insert = dataclass.queries.insert(dialect.db, Object.fromEntries(row));
  const valuesOf: InsertStatement['values'] = (entity, timestamp) => {
    const values: SqlValue[] = [];
    for (const { name } of stored) values.push(entity.get(name) ?? null);
    for (const { attribute, derive } of derived)
      values.push(...derive(entity.get(attribute) ?? null));
    values.push(1, timestamp);
    return values;
  };
  return {
    statement: dialect.compile(
      drawnKey === undefined ? insert : openedInsert(insert).returning(keyAlone(key)),
    ),
    values: valuesOf,
    together: ({ direct }) => {
      if (direct === undefined || stored.some(({ type }) => notInJson.has(type))) return undefined;
      const table = sql.id(dataclass.table);
      const given = columns.map((name) => {
        if (name === '__STAMP') return sql.lit(1);
        if (name === '__TIMESTAMP') return sql`${new Slot(1)}`;
        const value = sql.id('__row', name);
        return drawnKey !== undefined && name === key.column
          ? drawnKey(value, dataclass.table, name, sql`${new Slot(2)}`)
          : value;
      });
      const rows = direct.rows(dataclass.table, sql`${new Slot(0)}`);
      return sql`insert into ${table} (${sql.join(columns.map((name) => sql.id(name)))}) select ${sql.join(given)} from ${rows} as "__row" returning ${table}.*`;
    },
    rows: (entities, timestamp) => {
      const rows = entities.map(({ values }) => {
        const row: Record<string, SqlValue> = {};
        for (const { name, column } of stored) row[column] = values.get(name) ?? null;
        for (const { attribute, columns: names, derive } of derived) {
          const derivedValues = derive(values.get(attribute) ?? null);
          for (const [index, each] of names.entries()) row[each] = derivedValues[index] ?? null;
        }
        return row;
      });
      const isKeyed = entities.some(({ values }) => (values.get(key.name) ?? null) !== null);
      return [JSON.stringify(rows), timestamp, isKeyed ? null : rows.length];
    },
  };
}

function keyAlone({ column }: StorageDefinition): AliasedExpression<unknown, string> {
  return sql.id(column).as(column);
}

interface UpdateOptions {
  /** `undefined` lets the entity keep its stamp and its timestamp. */
  readonly timestamp: string | undefined;
  /** ID of the session whose own locks do not count. */
  readonly session: string | undefined;
}

/** The values of a change of one entity. */
interface UpdateStatement extends UpdateOptions {
  /** Folded if it is a text. */
  readonly key: string | number;
  readonly stamp: number;
  readonly values: ReadonlyMap<string, StoredValue>;
  /** Values for read-only attributes, which must be the stored ones. */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
}

interface StoredAttribute {
  readonly definition: StorageDefinition;
  readonly derived: DerivedColumns | undefined;
}

/**
 * Makes a change of rows, which returns them, the whole statement of a request, if that is possible.
 * The statement returns the JSON of one entity; or the JSON of all, with commas between them, and
 * their keys as a JSON list.
 */
export type CompleteChange = (
  change: BuiltQuery | Sql,
  answer: 'one' | 'list',
) => Statement | undefined;

/** A statement, and its values. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly values: SqlValue[];
}

/** The first slots; the values follow. */
const keySlot = new Slot(0);
const stampSlot = new Slot(1);
const timestampSlot = new Slot(2);
const firstValueSlot = 3;

/**
 * Writes the statements that change entities of one dataclass: one for each set of attributes. The
 * check of the stamp and of the values and the change itself are one statement, so that of two
 * writers with one stamp only one can change the entity.
 */
export class UpdateStatements {
  /** The statement that returns the stamp of the entity of a key, folded if it is a text. */
  readonly stamp: Statement;
  /**
   * The statement that returns the stamp, and locks the entity: nobody else can change or delete it
   * until the transaction ends.
   */
  readonly lockedStamp: Statement;
  readonly #attributes: ReadonlyMap<string, StoredAttribute>;
  /** The table itself, including hidden entities. */
  readonly #from: From;
  readonly #source: Source;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly known: Cache<Statement>,
    private readonly guard: LockGuard | undefined,
  ) {
    this.#attributes = new Map(
      dataclass.attributes
        .filter((each): each is StorageDefinition => each.kind === 'storage')
        .map((definition) => {
          return [definition.name, { definition, derived: derivedColumns(definition, dialect) }];
        }),
    );
    this.#from = new From(new Aliases(), unrestricted(dataclass), 'table');
    this.#source = this.#from.root;
    const key = column(this.#source, dataclass.key.column);
    const lock = dialect.lockRows?.(this.#source.alias, key, 'change');
    this.stamp = this.#select(column(this.#source, '__STAMP'));
    this.lockedStamp = this.#select(column(this.#source, '__STAMP'), lock);
  }

  /**
   * The statement, and its values. It changes one entity or none: none if there is no such key and
   * stamp, if a read-only attribute has another value, or if all the values are stored already. A
   * change of a locked entity fails, if the database can see its lock.
   * @param complete makes it the whole statement of a request; there may be none then
   */
  changing(
    { key, stamp, timestamp, session, values: given, readOnly }: UpdateStatement,
    complete?: CompleteChange,
  ): BoundStatement | undefined {
    const isSave = timestamp !== undefined;
    const kind = complete !== undefined ? 'direct' : isSave ? 'save' : 'compute';
    const name = `${kind} ${this.dataclass.name}\n${[...given.keys()].join()}\n${[...readOnly.keys()].join()}`;
    let statement = this.known.get(name);
    if (statement === undefined) {
      const query = this.#write(this.#named(given), this.#named(readOnly), kind);
      statement =
        complete === undefined
          ? this.dialect.compile(query)
          : complete(query.returningAll(), 'one');
      if (statement === undefined) return undefined;
      this.known.set(name, statement);
    }
    const values: SqlValue[] = [key, stamp, timestamp ?? null];
    for (const [attribute, value] of given) {
      values.push(value);
      const derived = this.#attributes.get(attribute)?.derived;
      if (derived !== undefined) values.push(...derived.derive(value));
    }
    values.push(...readOnly.values());
    if (isSave && this.guard !== undefined) values.push(...this.guard.values(key, session));
    return { statement, values };
  }

  #named(values: UpdateStatement['values']): readonly StoredAttribute[] {
    return [...values.keys()].map((name) => this.#attributes.get(name) as StoredAttribute);
  }

  #write(
    changed: readonly StoredAttribute[],
    kept: readonly StoredAttribute[],
    kind: 'direct' | 'save' | 'compute',
  ): UpdateQueryBuilder<AnyTables, string, string, unknown> {
    const source = this.#source;
    const isSave = kind !== 'compute';
    let next = firstValueSlot;
    const changes: [string, Sql][] = [];
    const differences: Sql[] = [];
    for (const { definition, derived } of changed) {
      const value = boundValue(this.dialect, definition, new Slot(next));
      differences.push(sql`${column(source, definition.column)} is distinct from ${value}`);
      changes.push([definition.column, value]);
      next += 1;
      for (const name of derived?.columns ?? []) {
        changes.push([name, sql`${new Slot(next)}`]);
        next += 1;
      }
    }
    // Such a statement answers with related entities as they were before.
    const related = kind === 'direct' ? ownRelations(this.dataclass) : [];
    const toOthers = related.map((relation) => {
      const { column: name } = this.dataclass.foreignKey(relation);
      const changing = changes.find(([each]) => each === name)?.[1];
      return sql`${changing ?? column(source, name)} is distinct from ${keyColumn(source)}`;
    });
    if (isSave) changes.push(['__TIMESTAMP', sql`${timestampSlot}`]);
    const conditions = [
      ...this.#shown(),
      ...kept.map(({ definition }, index) => this.#isStored(definition, new Slot(next + index))),
      sql`(${sql.join(differences, sql` or `)})`,
      ...toOthers,
    ];
    const { queries } = this.dataclass;
    const change = (isSave ? queries.update : queries.change)(
      this.dialect.db,
      sql`${keySlot}`,
      sql`${stampSlot}`,
      Object.fromEntries(changes),
    );
    const changing = conditions.reduce(
      (all, each) => all.where(each.$castTo<SqlBool>()),
      openedUpdate(change),
    );
    if (!isSave || this.guard === undefined) return changing;
    const lock = next + kept.length;
    const { name } = this.dataclass;
    const required = this.guard.call(name, sql`${new Slot(lock)}`, sql`${new Slot(lock + 1)}`);
    return changing.returning(required.as('__free'));
  }

  /**
   * The statement that checks whether an entity has a value; its values are the key and that value.
   */
  hasValue(definition: StorageDefinition): Statement {
    return getOrInsertComputed(this.known, `has ${this.dataclass.name}.${definition.name}`, () =>
      this.#select(this.#isStored(definition, new Slot(1))),
    );
  }

  #isStored(definition: StorageDefinition, slot: Slot): Sql {
    const value = boundValue(this.dialect, definition, slot);
    return sql`${column(this.#source, definition.column)} is not distinct from ${value}`;
  }

  /** The statement that returns what is stored of an entity; its value is the key. */
  stored({ name, column: stored }: StorageDefinition): Statement {
    return getOrInsertComputed(this.known, `stored ${this.dataclass.name}.${name}`, () =>
      this.#select(column(this.#source, stored)),
    );
  }

  #select(value: Sql, lock?: Sql): Statement {
    const selecting = this.#from.selecting(value, ...this.#shown());
    const select: Select<AnyRow> = (query) =>
      lock === undefined ? selecting(query) : selecting(query).modifyEnd(lock);
    const byKey = this.dataclass.queries.byKey(this.dialect.db, sql`${keySlot}`, select);
    return this.dialect.compile(byKey);
  }

  /** A hidden entity cannot be changed. */
  #shown(): readonly Sql[] {
    const { restriction } = this.dataclass;
    return restriction === undefined ? [] : [restriction.condition(this.#source.alias)];
  }
}

/**
 * Waits for all transactions that are changing an entity, before a client learns of its lock: see
 * `DatabaseLockTable`.
 * @param transaction that nobody needs afterwards, or that of the code that locks the entity
 */
export async function waitForWriters(
  transaction: Transaction,
  dialect: Dialect,
  dataclass: Dataclass,
  key: string | number,
): Promise<void> {
  const lock = lockStatement(dialect, dataclass);
  const isImpossible = typeof key === 'string' && (!isWellFormed(key) || key.includes('\0'));
  // A database that runs one writing transaction at a time locks no rows.
  if (lock === undefined || isImpossible) return;
  const compared = comparableKey(dataclass, dialect, key);
  await transaction.run(lock, [JSON.stringify([compared])]);
}

export function lockStatement(dialect: Dialect, dataclass: Dataclass): Statement | undefined {
  if (dialect.lockRows === undefined) return undefined;
  const from = new From(new Aliases(), dataclass);
  const { key } = dataclass;
  const comparable = comparableColumn(dialect, from.root, key);
  const isNamed = isIn(dialect, comparable, sql`${new Slot(0)}`, valueTypeOf(key.type));
  const lock = dialect.lockRows(from.root.alias, keyColumn(from.root), 'change');
  const rows = sql`select 1 ${from.clause} where ${isNamed}${lock}`;
  return dialect.compile(sql`select count(*) from (${rows}) as "locked"`);
}
