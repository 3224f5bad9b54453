import { basename, extname } from 'node:path';
import { createRequire } from 'node:module';
import type { Database } from 'better-sqlite3';
import { MissingDriver } from '../check/missing-driver.js';
import { fold } from '../../runtime/protocol/fold.js';
import {
  columnId,
  isOurs,
  isWanted,
  ownDatabase,
  tablesOf,
  tellCase,
  uniqueColumns,
  type Column,
  type DatabaseOptions,
  type ForeignKey,
  type Index,
  type Table,
} from './database.js';
import { ImportStop, type Notes } from './messages.js';
import type { Digits } from '../model/decimals.js';
import { mostDigits } from '../../runtime/protocol/decimal.js';
import type { Identity, SourceModel, StorageType } from './source-model.js';
import {
  asType,
  constantOf,
  narrowed,
  readCreateTable,
  ruleOf,
  type CreateTable,
  type Rule,
} from './sql.js';

/** Rows of a table that are looked at. */
const lookedAt = 10_000;

/** Reads the structure of a SQLite file, which stays as it is. */
export function readSqlite(path: string, options: DatabaseOptions, notes: Notes): SourceModel {
  const database = opened(path);
  try {
    const reader = new Reader(database, options, notes);
    const tables = reader.tables();
    if (isOurs(tables)) throw new ImportStop('usage', path, ownDatabase);
    return {
      kind: 'sqlite',
      names: [basename(path, extname(path))],
      ...tablesOf(tables, options, notes, reader.longKeys(tables)),
      functions: [],
      singletons: [],
      remarks: [],
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'SqliteError') {
      throw new ImportStop('import/unreadable', path, error.message);
    }
    throw error;
  } finally {
    database.close();
  }
}

export function opened(path: string): Database {
  let Constructor: new (file: string, options: object) => Database;
  try {
    Constructor = createRequire(import.meta.url)('better-sqlite3') as typeof Constructor;
    new Constructor(':memory:', {}).close();
  } catch (error) {
    throw new MissingDriver(error, 'An import from SQLite needs better-sqlite3, which');
  }
  try {
    const database = new Constructor(path, { readonly: true, fileMustExist: true });
    // Expressions of the file may call nothing that has effects.
    database.pragma('trusted_schema = off');
    database.pragma('query_only = on');
    database.pragma('cell_size_check = on');
    return database;
  } catch (error) {
    throw new ImportStop(
      'import/unreadable',
      path,
      error instanceof Error ? error.message : String(error),
    );
  }
}

interface ListedTable {
  readonly name: string;
  readonly type: 'table' | 'view' | 'virtual' | 'shadow';
  readonly wr: number;
}

interface ListedColumn {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
  readonly hidden: number;
}

class Reader {
  readonly #sql: ReadonlyMap<string, string>;

  constructor(
    private readonly database: Database,
    private readonly options: DatabaseOptions,
    private readonly notes: Notes,
  ) {
    const rows = this.#all<{ name: string; sql: string | null }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table'",
    );
    this.#sql = new Map(rows.map(({ name, sql }) => [name, sql ?? '']));
  }

  tables(): readonly Table[] {
    // In the order in which they were made.
    const order = new Map([...this.#sql.keys()].map((name, index) => [name, index]));
    const placeOf = ({ name }: ListedTable): number => order.get(name) ?? -1;
    const listed = this.#all<ListedTable>(
      "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'",
    ).toSorted((a, b) => placeOf(a) - placeOf(b));
    const names = new Map(listed.map(({ name }) => [name.toLowerCase(), name]));
    const tables: Table[] = [];
    for (const each of listed) {
      if (/^sqlite_/i.test(each.name) || each.type === 'shadow') continue;
      if (each.type !== 'table') {
        const what = each.type === 'view' ? 'view' : 'virtual table';
        this.notes.add('import/view', each.name, { name: each.name, what });
      } else if (isWanted(each.name, each.name, this.options, this.notes)) {
        tables.push(this.#table(each, names));
      }
    }
    const triggers = this.#all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name",
    );
    if (triggers.length > 0) {
      const what = `Triggers: ${triggers.map(({ name }) => name).join(', ')}`;
      const became = 'they are left out; class code has events instead';
      this.notes.add('import/trigger', '', { what, became });
    }
    return tables;
  }

  /** Keys with integers beyond 2^53. Texts that differ only in case are told. */
  longKeys(tables: readonly Table[]): ReadonlySet<Identity> {
    const long = new Set<Identity>();
    this.database.function('drs_fold', { deterministic: true }, (text: unknown) =>
      fold(String(text)),
    );
    for (const each of uniqueColumns(tables)) {
      const { table, column, isByItself } = each;
      const [name, from] = [quoted(column.name), `main.${quoted(table.name)}`];
      if (column.type === 'integer') {
        const most = String(Number.MAX_SAFE_INTEGER);
        const sql = `SELECT 1 FROM ${from} WHERE (${name} > ${most} OR ${name} < -${most}) AND typeof(${name}) = 'integer' LIMIT 1`;
        if (this.#all(sql).length > 0) long.add(columnId(table.id, column.name));
      } else if (column.type === 'string' && isByItself) {
        const sql = `SELECT count(*) OVER () AS groups, min(${name}) AS first, max(${name}) AS second FROM ${from}
          WHERE typeof(${name}) = 'text' GROUP BY drs_fold(${name}) HAVING count(*) > 1 LIMIT 1`;
        const [found] = this.#all<Parameters<typeof tellCase>[1]>(sql);
        if (found !== undefined) tellCase(each, found, this.notes);
      }
    }
    return long;
  }

  #all<Row>(sql: string, ...values: readonly string[]): Row[] {
    return this.database.prepare(sql).all(...values) as Row[];
  }

  #table({ name, wr }: ListedTable, tables: ReadonlyMap<string, string>): Table {
    const found = this.#all<ListedColumn>('SELECT * FROM pragma_table_xinfo(?)', name);
    const text = readCreateTable(this.#sql.get(name) ?? '');
    const visible = found.filter(({ hidden }) => hidden !== 1);
    const key = visible.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
    const looks = this.#look(
      name,
      visible.filter(({ hidden }) => hidden === 0),
    );
    const columns = visible.map((each) => {
      const isRowid =
        key.length === 1 && each.pk > 0 && wr === 0 && /^integer$/i.test(each.type.trim());
      return this.#column(name, each, { text, isRowid, look: looks.get(each.name) });
    });
    const names = new Map(columns.map((each) => [each.name.toLowerCase(), each.name]));
    const { uniques, indexes } = this.#indexes(name);
    return {
      id: `table:${name}`,
      name,
      columns: withRules(columns, text, name, this.notes),
      key: key.map((each) => each.name),
      uniques,
      indexes,
      foreignKeys: this.#foreignKeys(name, names, tables),
    };
  }

  #column(
    table: string,
    listed: ListedColumn,
    { text, isRowid, look }: { text: CreateTable; isRowid: boolean; look: Look | undefined },
  ): Column {
    const { name } = listed;
    const place = `${table}.${name}`;
    const declared = listed.type.trim();
    const { type, dateOnly, maxLength, digits } = typeOf(declared, look);
    this.#tellMixed(place, declared, type, look);
    const expression =
      listed.hidden === 2 || listed.hidden === 3
        ? (text.generated.get(name.toLowerCase()) ?? 'unknown')
        : undefined;
    if (expression !== undefined) this.notes.add('import/generated', place, { expression });
    return {
      name,
      type,
      dateOnly,
      ...digits,
      maxLength,
      generated: isRowid ? 'sequence' : undefined,
      isNullable: listed.notnull === 0 && !isRowid,
      readOnly: expression !== undefined,
      default: this.#default(place, listed.dflt_value, type, dateOnly),
    };
  }

  #default(
    place: string,
    sql: string | null,
    type: StorageType,
    dateOnly: boolean,
  ): Column['default'] {
    if (sql === null) return undefined;
    const constant = constantOf(sql);
    if (constant === null) return undefined;
    const value = constant === undefined ? undefined : asType(type, dateOnly, constant);
    if (value === undefined) this.notes.add('import/default-lost', place, { value: sql });
    return value;
  }

  #indexes(table: string): {
    readonly uniques: readonly Index[];
    readonly indexes: readonly Index[];
  } {
    const uniques: Index[] = [];
    const indexes: Index[] = [];
    const listed = this.#all<{
      name: string;
      unique: number;
      origin: string;
      partial: number;
      seq: number;
    }>('SELECT * FROM pragma_index_list(?)', table);
    for (const { name, unique, origin, partial } of listed.toSorted((a, b) => b.seq - a.seq)) {
      if (origin === 'pk') continue;
      const parts = this.#all<{ cid: number; name: string | null; key: number }>(
        'SELECT * FROM pragma_index_xinfo(?)',
        name,
      ).filter(({ key }) => key === 1);
      const columns = parts.flatMap((each) => (each.name === null ? [] : [each.name]));
      const reason =
        partial === 1
          ? 'it is over a part of the rows'
          : columns.length < parts.length
            ? 'it is over an expression'
            : undefined;
      if (reason === undefined) (unique === 1 ? uniques : indexes).push({ name, columns });
      else if (unique === 1) this.notes.add('import/unique-left-out', table, { name, reason });
      else this.notes.add('import/index-left-out', table, { name, reason });
    }
    return { uniques, indexes };
  }

  #foreignKeys(
    table: string,
    columns: ReadonlyMap<string, string>,
    tables: ReadonlyMap<string, string>,
  ): readonly ForeignKey[] {
    const rows = this.#all<{
      id: number;
      seq: number;
      table: string;
      from: string;
      to: string | null;
      on_delete: string;
    }>('SELECT * FROM pragma_foreign_key_list(?)', table);
    // SQLite lists the last one first.
    return [...new Set(rows.map(({ id }) => id))]
      .toSorted((a, b) => b - a)
      .map((id): ForeignKey => {
        const ordered = rows.filter((each) => each.id === id).toSorted((a, b) => a.seq - b.seq);
        const target = ordered[0]?.table ?? '';
        const known = tables.get(target.toLowerCase());
        const names =
          known === undefined
            ? undefined
            : this.#all<ListedColumn>('SELECT * FROM pragma_table_xinfo(?)', known);
        const actual = (name: string): string =>
          names?.find((each) => each.name.toLowerCase() === name.toLowerCase())?.name ?? name;
        return {
          name: `of ${ordered.map(({ from }) => from).join(', ')} to ${target}`,
          columns: ordered.map(({ from }) => columns.get(from.toLowerCase()) ?? from),
          table: `table:${known ?? target}`,
          toColumns: ordered.flatMap(({ to }) => (to === null ? [] : [actual(to)])),
          onDelete: deleteRules[ordered[0]?.on_delete ?? ''],
        };
      });
  }

  #tellMixed(place: string, declared: string, type: StorageType, look: Look | undefined): void {
    if (look === undefined) return;
    const expected = storedAs[type];
    const others = Object.entries(look.counts).flatMap(([kind, count]) =>
      count > 0 && !expected.includes(kind) ? [`${kind} (${String(count)})`] : [],
    );
    if (others.length === 0) return;
    const found = others.join(', ');
    this.notes.add('import/mixed-column', place, {
      declared: declared === '' ? 'nothing' : declared,
      found,
      type,
    });
  }

  /** Looks at the types of the values that columns hold. */
  #look(table: string, columns: readonly ListedColumn[]): ReadonlyMap<string, Look> {
    const looks = new Map<string, Look>();
    for (let at = 0; at < columns.length; at += columnsAtOnce) {
      const part = columns.slice(at, at + columnsAtOnce);
      const counts = part.flatMap((_, index) => {
        const column = `c${String(index)}`;
        return [
          ...kinds.map((kind) => `total(typeof(${column}) = '${kind}')`),
          `total(typeof(${column}) = 'text' AND (${column} GLOB '${uuidForm}' OR ${column} GLOB '${plainUuidForm}'))`,
        ];
      });
      // With names of its own: SQLite loses some names, such as "true", on the way out of a subquery.
      const list = part
        .map(({ name }, index) => `t.${quoted(name)} AS c${String(index)}`)
        .join(', ');
      const rows = `SELECT ${list} FROM main.${quoted(table)} AS t LIMIT ${String(lookedAt)}`;
      const row = this.database
        .prepare(`SELECT ${counts.join(', ')} FROM (${rows})`)
        .raw()
        .get() as number[];
      for (const [index, { name }] of part.entries()) {
        const [integer = 0, real = 0, text = 0, blob = 0, uuid = 0] = row.slice(index * 5);
        looks.set(name, { counts: { integer, real, text, blob }, uuid });
      }
    }
    return looks;
  }
}

const columnsAtOnce = 100;
const kinds = ['integer', 'real', 'text', 'blob'] as const;
const hex = '[0-9a-fA-F]';
const uuidForm = [8, 4, 4, 4, 12].map((length) => hex.repeat(length)).join('-');
const plainUuidForm = hex.repeat(32);

interface Look {
  readonly counts: Readonly<Record<(typeof kinds)[number], number>>;
  /** Texts that are UUIDs. */
  readonly uuid: number;
}

/** How values of a type are stored; a date may be text, seconds or a day number. */
const storedAs: Readonly<Record<StorageType, readonly string[]>> = {
  string: ['text'],
  uuid: ['text'],
  number: ['integer', 'real'],
  integer: ['integer'],
  decimal: ['integer', 'real'],
  boolean: ['integer'],
  date: ['text', 'integer', 'real'],
  duration: ['text', 'integer', 'real'],
  object: ['text'],
  image: ['blob'],
  blob: ['blob', 'text'],
  vector: ['text', 'blob'],
};

const deleteRules: Readonly<Record<string, ForeignKey['onDelete']>> = {
  CASCADE: 'cascade',
  RESTRICT: 'restrict',
  'NO ACTION': 'restrict',
  'SET NULL': 'setNull',
  'SET DEFAULT': 'setNull',
};

interface Typed {
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly maxLength: number | undefined;
  readonly digits?: Digits | undefined;
}

function typeOf(declared: string, look: Look | undefined): Typed {
  const [, word = '', size] = /^([^(]*)(?:\(\s*(\d+))?/.exec(declared.toUpperCase()) ?? [];
  const name = word.trim();
  const length = size === undefined ? undefined : Number(size);
  const plain = (type: StorageType, dateOnly = false): Typed => ({
    type,
    dateOnly,
    maxLength: undefined,
  });
  if (name.includes('BOOL') || (name === 'TINYINT' && length === 1)) return plain('boolean');
  if (name === 'DATE') return plain('date', true);
  if (name.startsWith('DATETIME') || name.startsWith('TIMESTAMP')) return plain('date');
  if (name === 'TIME') return plain('duration');
  if (name === 'JSON' || name === 'JSONB') return plain('object');
  const texts = look?.counts.text ?? 0;
  const areUuids = texts > 0 && look?.uuid === texts;
  if (name === 'UUID' || name === 'GUID' || name === 'UNIQUEIDENTIFIER') {
    return plain(look === undefined || texts === look.uuid ? 'uuid' : 'string');
  }
  if (/CHAR/.test(name) && (length === 36 || length === 32) && areUuids) return plain('uuid');
  if (name.includes('INT')) return plain('integer');
  if (/CHAR|CLOB|TEXT/.test(name)) return { ...plain('string'), maxLength: length };
  if (name.includes('BLOB')) return plain('blob');
  if (/REAL|FLOA|DOUB/.test(name)) return plain('number');
  if (/^(?:DECIMAL|NUMERIC|NUMBER|MONEY|DEC)\b/.test(name)) {
    const digits = digitsOf(declared);
    return digits === undefined ? plain('number') : { ...plain('decimal'), digits };
  }
  return plain(byData(look));
}

/** `DECIMAL(10,2)`; none without a scale, or for more digits than a decimal has. */
function digitsOf(declared: string): Digits | undefined {
  const [, first = '', second] = /\(\s*(\d+)\s*,\s*(\d+)\s*\)/.exec(declared) ?? [];
  if (second === undefined) return undefined;
  const [precision, scale] = [Number(first), Number(second)];
  const isPossible = precision >= 1 && precision <= mostDigits && scale <= precision;
  return isPossible ? { precision, scale } : undefined;
}

/** The type of a column that declares none. */
function byData(look: Look | undefined): StorageType {
  const { integer = 0, real = 0, text = 0, blob = 0 } = look?.counts ?? {};
  if (text > 0) return text === look?.uuid ? 'uuid' : 'string';
  if (real > 0) return 'number';
  if (integer > 0) return 'integer';
  return blob > 0 ? 'blob' : 'string';
}

/** Adds what CHECK rules say. */
function withRules(
  columns: readonly Column[],
  { checks }: CreateTable,
  table: string,
  notes: Notes,
): readonly Column[] {
  const found = new Map<string, Rule>();
  const named = (name: string): Column | undefined =>
    columns.find((each) => each.name.toLowerCase() === name.toLowerCase());
  for (const check of checks) {
    const rule = ruleOf(check, {
      brackets: true,
      isInteger: (name) => named(name)?.type === 'integer',
    });
    const column = rule === undefined ? undefined : named(rule.column);
    if (rule === undefined || column === undefined) {
      const reason = 'the model has no such rule; class code can check it in validateSave';
      notes.add('import/rule-lost', table, { rule: `CHECK (${check})`, reason });
    } else found.set(column.name, narrowed(found.get(column.name) ?? {}, rule.rule));
  }
  return columns.map((each) => ({ ...each, ...narrowed(each, found.get(each.name) ?? {}) }));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
