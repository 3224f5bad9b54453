import { sql } from 'kysely';
import type { Lock, LockGuard } from '../../access/locks.js';
import {
  type ColumnDefinition,
  followAll,
  keyAlias,
  resolveAlias,
} from '../../dataclass/attribute-path.js';
import { comparableKey } from '../../dataclass/comparable.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { Aliases } from '../../dataclass/aliases.js';
import { attributeColumn, shownAggregate } from '../../dataclass/comparable.js';
import { column, From } from '../../dataclass/source.js';
import type { Database } from '../../dialect/database.js';
import type { Dialect, Sql } from '../../dialect/dialect.js';
import { Slot, type SqlValue, type Statement } from '../../dialect/statement.js';
import { valueTypeOf } from '../../dialect/value-type.js';
import type {
  AliasDefinition,
  ExpressionDefinition,
  StorageDefinition,
} from '../../protocol/definition.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { decodeKey } from '../../protocol/key.js';
import { queryOf } from '../../protocol/queries.js';
import { storedValue } from '../../protocol/values.js';
import { AttributeError } from './failure.js';

/** An attribute whose value is in an entity's row. */
export interface Field {
  readonly attribute: StorageDefinition | ExpressionDefinition | AliasDefinition;
  /** The column that holds the value: for an alias, a column of another dataclass. */
  readonly end: ColumnDefinition;
  /** Position in the row. */
  readonly index: number;
  /** Whether the row holds only the number of bytes. */
  readonly isMedia: boolean;
  /** Whether the value is the key of the entity to which an alias leads: for class code, a relation. */
  readonly isRelation: boolean;
}

/** The values of an entity, in the order of {@link EntityLayout.columns}. */
export type EntityRow = readonly SqlValue[];

/**
 * The columns of the rows of a dataclass's entities: the stamp, then one value for each attribute
 * that has one.
 */
export class EntityLayout {
  /** In model order. */
  readonly fields: readonly Field[];
  readonly #byName: ReadonlyMap<string, Field>;

  constructor(readonly dataclass: Dataclass) {
    const fields: Field[] = [];
    for (const each of dataclass.attributes) {
      const isAlias = each.kind === 'relationAlias' && each.many !== true;
      // Its value is the key of the entity to which it leads.
      const attribute = isAlias ? keyAlias(dataclass, each) : each;
      if (!hasValue(attribute)) continue;
      const end = attribute.kind === 'alias' ? resolveAlias(dataclass, attribute).end : attribute;
      const isMedia = end.type === 'image' || end.type === 'blob';
      fields.push({ attribute, end, index: fields.length + 1, isMedia, isRelation: isAlias });
    }
    this.fields = fields;
    this.#byName = new Map(fields.map((field) => [field.attribute.name, field]));
  }

  get key(): Field {
    return this.field(this.dataclass.key.name);
  }

  /** The row of an entity that is not saved yet: the defaults of the model, null for anything else. */
  defaults(): EntityRow {
    const row: SqlValue[] = [0];
    for (const { attribute, index } of this.fields) {
      const result =
        attribute.kind === 'storage' && attribute.default !== undefined
          ? storedValue(attribute, attribute.default)
          : undefined;
      row[index] = result?.ok === true ? result.value : null;
    }
    return row;
  }

  find(name: string): Field | undefined {
    return this.#byName.get(name);
  }

  /** @param name of an attribute that has a value in the row */
  field(name: string): Field {
    const field = this.#byName.get(name);
    if (field !== undefined) return field;
    throw new Error(`${this.dataclass.name}.${name} has no value in a row.`);
  }

  /** @param index position of a value in the row */
  at(index: number): Field {
    return this.fields[index - 1] as Field;
  }

  /**
   * The position of the value of an attribute that class code names; for a to-one relation, of its
   * key.
   * @throws AttributeError for any other name
   */
  named(name: string): Field {
    const attribute = this.dataclass.attributesInCode.get(name);
    const field =
      attribute?.kind === 'relatedEntity'
        ? this.find(this.dataclass.foreignKey(attribute).name)
        : this.find(attribute?.name ?? name);
    if (field !== undefined) return field;
    const predicate =
      attribute === undefined ? 'does not exist' : 'holds no value of the entity itself';
    throw new AttributeError(this.dataclass.name, name, predicate);
  }

  /** The columns that a statement selects, for the entities at the root of `from`. */
  columns(dialect: Pick<Dialect, 'decimalText'>, from: From): readonly Sql[] {
    const values = this.fields.map((field) => {
      const { end } = field;
      if (end.kind === 'aggregate') {
        const shown = shownAggregate(dialect, from.root, end);
        return sql`(select ${shown.value} ${shown.from})`;
      }
      const value = this.column(from, field);
      if (end.kind === 'storage' && end.type === 'decimal') {
        return dialect.decimalText(value, end.scale ?? 0);
      }
      // Computed without reading the bytes.
      return field.isMedia ? sql`length(${value})` : value;
    });
    return [column(from.root, '__STAMP'), ...values];
  }

  /** The value of one attribute itself; joins the target of an alias. */
  column(from: From, { attribute, end }: Field): Sql {
    if (attribute.kind !== 'alias') return attributeColumn(from.root, end);
    const { relations } = resolveAlias(this.dataclass, attribute);
    return attributeColumn(followAll(from, from.root, relations), end);
  }
}

function hasValue(attribute: Dataclass['attributes'][number]): attribute is Field['attribute'] {
  const { kind } = attribute;
  return kind === 'storage' || kind === 'expression' || kind === 'aggregate' || kind === 'alias';
}

/** Keys that one statement reads; their list is one value. */
const keysPerStatement = 10_000;

/**
 * Reads the rows of entities by their keys. A row holds every value of the layout, whatever the
 * session may read: properties are synchronous, and promoted code may read more, so privileges are
 * checked then (`EntityState.get`).
 */
export class EntityRows {
  readonly #byKey: Statement;
  readonly #byKeys: Statement;
  #withLock: Statement | undefined;
  readonly #byUnique = new Map<string, Statement>();
  readonly #bytes = new Map<Field, Statement>();

  /** @param dataclass of the entities; that of the layout, or a view of it */
  constructor(
    private readonly database: Database,
    private readonly dataclass: Dataclass,
    private readonly layout: EntityLayout,
  ) {
    const { dialect } = database;
    this.#byKey = this.#selecting((from) => sql.join(layout.columns(dialect, from)));
    const list = dialect.each(sql`${new Slot(0)}`, valueTypeOf(dataclass.key.type));
    const from = new From(new Aliases(), dataclass, { list });
    const columns = sql.join(layout.columns(dialect, from));
    this.#byKeys = dialect.compile(sql`select ${columns} ${from.clause}${from.order}`);
  }

  /** @param key in any case; no entity has a key that is impossible for the type */
  byKey(key: string | number): Promise<EntityRow | undefined> {
    const stored = decodeKey(this.dataclass.key.type, String(key));
    return stored === undefined ? Promise.resolve(undefined) : this.#row(this.#byKey, stored);
  }

  /**
   * An entity with the lock of another session, null if there is none.
   * @param key as it is stored, a text in any case
   * @param session ID of the session whose own lock does not count
   */
  async withLock(
    key: string | number,
    guard: LockGuard,
    session: string | undefined,
  ): Promise<{ readonly row: EntityRow; readonly lock: Lock | null } | undefined> {
    const { dataclass, layout } = this;
    const { dialect, executor } = this.database;
    this.#withLock ??= this.#selecting((from) => {
      const held = guard.held(dataclass.name, sql`${new Slot(1)}`, sql`${new Slot(2)}`);
      return sql.join([...layout.columns(dialect, from), held]);
    });
    const values = [comparableKey(dataclass, dialect, key), ...guard.values(key, session)];
    const [row] = await executor.rows(this.#withLock, values);
    return row && { row, lock: guard.read(row.at(-1) ?? null) ?? null };
  }

  /**
   * @param name of a unique attribute
   * @param value in stored form, a text in any case
   */
  async byUnique(name: string, value: string | number): Promise<EntityRow | undefined> {
    const { dialect, executor } = this.database;
    const statement = getOrInsertComputed(this.#byUnique, name, () => {
      const from = new From(new Aliases(), this.dataclass, 'table');
      const query = queryOf(this.dataclass.queries.by, name);
      if (query === undefined) throw new Error(`${this.dataclass.name} has no query for ${name}.`);
      const columns = sql.join(this.layout.columns(dialect, from));
      return dialect.compile(query(dialect.db, sql`${new Slot(0)}`, from.selecting(columns)));
    });
    const attribute = this.dataclass.allAttributes.get(name);
    const isText = attribute?.kind === 'storage' && attribute.type === 'string';
    const compared = isText ? dialect.foldText(String(value)) : value;
    const [row] = await executor.rows(statement, [compared]);
    return row;
  }

  /**
   * @param keys as they are stored
   * @returns one for each key, in their order; `undefined` for a key that no entity has
   */
  async byKeys(keys: readonly (string | number)[]): Promise<readonly (EntityRow | undefined)[]> {
    const rows: (EntityRow | undefined)[] = [];
    for (let start = 0; start < keys.length; start += keysPerStatement) {
      const list = JSON.stringify(keys.slice(start, start + keysPerStatement));
      for (const row of await this.database.executor.rows(this.#byKeys, [list])) {
        // A stamp is never null: this key has no entity.
        rows.push(row[0] === null ? undefined : row);
      }
    }
    return rows;
  }

  /**
   * The bytes of an image or BLOB, or null.
   * @param key as it is stored
   * @throws Error if the entity was deleted
   */
  async bytes(field: Field, key: string | number): Promise<Uint8Array | null> {
    const statement = getOrInsertComputed(this.#bytes, field, () =>
      this.#selecting((from) => this.layout.column(from, field)),
    );
    const row = await this.#row(statement, key);
    if (row === undefined) {
      const shown = `${this.dataclass.name}.${field.attribute.name}`;
      throw new Error(`${shown} has no bytes: the entity was deleted.`);
    }
    const [bytes] = row;
    return bytes instanceof Uint8Array ? bytes : null;
  }

  /** A statement whose value is the key of the entity that it reads. */
  #selecting(columns: (from: From) => Sql): Statement {
    const { dialect } = this.database;
    const from = new From(new Aliases(), this.dataclass, 'table');
    const { byKey } = this.dataclass.queries;
    return dialect.compile(byKey(dialect.db, sql`${new Slot(0)}`, from.selecting(columns(from))));
  }

  async #row(statement: Statement, key: string | number): Promise<EntityRow | undefined> {
    const value = comparableKey(this.dataclass, this.database.dialect, key);
    const [row] = await this.database.executor.rows(statement, [value]);
    return row;
  }
}
