import { fold } from '../../runtime/protocol/fold.js';
import type { Notes } from './messages.js';
import type {
  Identity,
  SourceField,
  SourceIndex,
  SourceRelation,
  SourceTable,
  StorageType,
} from './source-model.js';

// What both databases share: which tables are taken, and how their parts are called.

export interface DatabaseOptions {
  /** Patterns of table names; none: all tables. */
  readonly tables: readonly string[];
  /** PostgreSQL; none: all that are not the database's own. */
  readonly schemas: readonly string[];
  readonly names: 'keep' | 'camel';
  /** `table.column` of BLOBs that hold images. */
  readonly images: readonly string[];
}

export interface Column extends Omit<SourceField, 'id' | 'place'> {
  /** May hold NULL. */
  readonly isNullable: boolean;
  /** An integer of 64 bits, if the database has shorter ones. */
  readonly is64?: boolean | undefined;
}

export interface Index {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface ForeignKey {
  readonly name: string;
  readonly columns: readonly string[];
  /** Identity of the table; it may not exist. */
  readonly table: Identity;
  /** Empty: its key. */
  readonly toColumns: readonly string[];
  readonly onDelete: SourceRelation['onDelete'];
}

export interface Table {
  readonly id: Identity;
  /** The name for messages and for `--tables`. */
  readonly name: string;
  /** What the dataclass is called after, if not the name. */
  readonly calledAfter?: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  /** Unique rules over plain columns and all rows, in the order of the database. */
  readonly uniques: readonly Index[];
  readonly indexes: readonly Index[];
  readonly foreignKeys: readonly ForeignKey[];
  readonly description?: string | undefined;
}

const toolTables =
  /^(?:_prisma_migrations|schema_migrations|knex_migrations.*|kysely_migration.*|__drizzle_migrations|flyway_schema_history|alembic_version|ar_internal_metadata|sqlite_.*|spatial_ref_sys)$/is;

/** Whether a table is imported; tables of tools are noted. */
export function isWanted(
  name: string,
  place: string,
  { tables }: DatabaseOptions,
  notes: Notes,
): boolean {
  if (toolTables.test(name)) {
    notes.add('import/engine-table', place, { name });
    return false;
  }
  return tables.length === 0 || tables.some((pattern) => matches(pattern, name));
}

/** Whether a name fits a pattern, in which `*` is any text. */
export function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'isu').test(name);
}

export const ownDatabase =
  'this is the database of a server of drs-gen, whose model is in .drs-gen/model.lock.json of that server';

/** A server of drs-gen keeps its columns in every table. */
export function isOurs(tables: readonly Table[]): boolean {
  return (
    tables.length > 0 &&
    tables.every(({ columns }) => columns.some(({ name }) => name === '__STAMP'))
  );
}

/** Columns that are keys or parts of one, and unique ones. */
export function uniqueColumns(tables: readonly Table[]): readonly UniqueColumn[] {
  return tables.flatMap((table) => {
    const single = [table.key, ...table.uniques.map(({ columns }) => columns)].flatMap((each) =>
      each.length === 1 ? each : [],
    );
    const names = new Set([...single, ...table.key]);
    return table.columns
      .filter(({ name }) => names.has(name))
      .map((column) => ({ table, column, isByItself: single.includes(column.name) }));
  });
}

interface UniqueColumn {
  readonly table: Table;
  readonly column: Column;
  /** Whether the column alone is unique. */
  readonly isByItself: boolean;
}

/** Tells of texts that are different in the source, and the same to the model. */
export function tellCase(
  { table: { name: table, key }, column: { name: column } }: UniqueColumn,
  found: { readonly groups: number; readonly first: string; readonly second: string },
  notes: Notes,
): void {
  const isKey = key.includes(column);
  notes.add('import/case', `${table}.${column}`, { ...found, table, isKey });
}

/** @param long columns with integers beyond 2^53, by {@link columnId} */
export function tablesOf(
  given: readonly Table[],
  options: DatabaseOptions,
  notes: Notes,
  long: ReadonlySet<Identity>,
): { readonly tables: readonly SourceTable[]; readonly relations: readonly SourceRelation[] } {
  const referenced = new Map<Identity, string[]>();
  for (const { table, toColumns } of given.flatMap((each) => each.foreignKeys)) {
    const columns = referenced.get(table) ?? [];
    referenced.set(table, columns);
    columns.push(...toColumns);
  }
  const strings = referring(given, long);
  const tables = given.map((each) =>
    withLongKeys(withKeyTypes(each, referenced.get(each.id) ?? [], notes), strings, notes),
  );
  const byId = new Map(tables.map((each) => [each.id, each]));
  return {
    tables: tables.map((each) => sourceTable(each, options, notes)),
    relations: tables.flatMap((each) => relationsOf(each, byId, options, notes)),
  };
}

/**
 * Replaces the decimals of keys and foreign keys by numbers, because no decimal can be a key.
 * @param referenced columns to which foreign keys lead
 */
function withKeyTypes(table: Table, referenced: readonly string[], notes: Notes): Table {
  const { name, key, foreignKeys } = table;
  const used = new Set([
    ...(key.length === 1 ? key : []),
    ...foreignKeys.flatMap((each) => each.columns),
    ...referenced,
  ]);
  const columns = table.columns.map((column): Column => {
    if (column.type !== 'decimal' || !used.has(column.name)) return column;
    const { precision = 0, scale = 0 } = column;
    const type = `decimal(${String(precision)},${String(scale)}) of a key`;
    notes.add('import/decimal', `${name}.${column.name}`, { type });
    return { ...column, type: 'number' };
  });
  return { ...table, columns };
}

/** The columns and all that refer to them, each with the name of the column that has the values. */
function referring(
  tables: readonly Table[],
  long: ReadonlySet<Identity>,
): ReadonlyMap<Identity, string> {
  const found = new Map<Identity, string>([...long].map((each) => [each, '']));
  const byId = new Map(tables.map((each) => [each.id, each]));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { id, foreignKeys } of tables) {
      for (const { table, columns, toColumns } of foreignKeys) {
        const target = byId.get(table);
        for (const [at, column] of columns.entries()) {
          const to = toColumns[at] ?? target?.key[at] ?? '';
          const own = columnId(id, column);
          if (target === undefined || found.has(own) || !found.has(columnId(table, to))) continue;
          found.set(own, `${target.name}.${to}`);
        }
      }
    }
  }
  return found;
}

/** Replaces integers by strings where keys are beyond 2^53. */
function withLongKeys(table: Table, strings: ReadonlyMap<Identity, string>, notes: Notes): Table {
  const columns = table.columns.map((column): Column => {
    const place = `${table.name}.${column.name}`;
    const refersTo = strings.get(columnId(table.id, column.name));
    if (refersTo === undefined || column.type !== 'integer') {
      if (column.is64 === true) notes.add('import/integer64', place, {});
      return column;
    }
    const isDrawn = column.generated === 'sequence';
    notes.add('import/long-key', place, { refersTo, isDrawn });
    const { name, isNullable, readOnly = false, description } = column;
    return { name, type: 'string', isNullable, readOnly, description };
  });
  return { ...table, columns };
}

function sourceTable(table: Table, options: DatabaseOptions, notes: Notes): SourceTable {
  const { id, name, columns } = table;
  const named = (text: string): string => (options.names === 'camel' ? camel(text, 'upper') : text);
  const single = table.uniques.filter(({ columns: list }) => list.length === 1);
  const unique = new Set(single.map(({ columns: [first = ''] }) => first));
  const indexed = new Set(
    table.indexes.flatMap(({ columns: list }) => (list.length === 1 ? list : [])),
  );
  const links = relationColumns(table);
  const key = keyOf(table, notes);
  const several = (list: readonly Index[], isUnique: boolean): readonly SourceIndex[] =>
    list
      .filter((each) => each.columns.length > 1)
      .map((each) => ({
        fields: each.columns.map((column) => columnId(id, column)),
        unique: isUnique,
      }));
  return {
    id,
    name: named(table.calledAfter ?? name),
    place: name,
    exposed: true,
    description: table.description,
    table: table.calledAfter ?? name,
    fields: columns.map((column): SourceField => {
      const called = links.renamed.get(column.name) ?? column.name;
      const isImage =
        column.type === 'blob' &&
        options.images.some((each) => fold(each) === fold(`${name}.${column.name}`));
      return {
        ...column,
        id: columnId(id, column.name),
        place: `${name}.${column.name}`,
        name: options.names === 'camel' ? camel(called, 'lower') : called,
        column: column.name,
        type: isImage ? 'image' : column.type,
        unique: unique.has(column.name),
        indexed: indexed.has(column.name),
        mandatory: !column.isNullable,
      };
    }),
    key: key.map((column) => columnId(id, column)),
    indexes: [...several(table.uniques, true), ...several(table.indexes, false)],
    computed: [],
    aliases: [],
    functions: [],
    events: [],
    restrict: false,
  };
}

const keyTypes: readonly StorageType[] = ['integer', 'uuid', 'string', 'number'];

/** The primary key; without one, a unique column that is never null can be it. */
function keyOf(table: Table, notes: Notes): readonly string[] {
  if (table.key.length > 0) return table.key;
  for (const type of keyTypes) {
    for (const { columns } of table.uniques) {
      const column = table.columns.find(({ name }) => name === columns[0]);
      if (columns.length !== 1 || column?.isNullable !== false || column.type !== type) continue;
      notes.add('import/unique-key', table.name, { table: table.name, column: column.name });
      return columns;
    }
  }
  return [];
}

export function columnId(table: Identity, column: string): Identity {
  return JSON.stringify([table, column]);
}

interface RelationColumns {
  /** Names of relations, by the column that leads. */
  readonly relations: ReadonlyMap<string, string>;
  /** Columns whose name the relation takes. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** `customer_id` leads to the relation `customer`; `author` is the relation, and the column is `author_id`. */
function relationColumns({ columns, foreignKeys }: Table): RelationColumns {
  const relations = new Map<string, string>();
  const renamed = new Map<string, string>();
  const names = new Set(columns.map(({ name }) => fold(name)));
  for (const { columns: list } of foreignKeys) {
    const [column = ''] = list;
    if (list.length !== 1 || relations.has(column)) continue;
    const short = column.replace(/(?:_id|_uuid|_fk|Id|ID|_ID|Uuid|_FK)$/, '');
    if (short === column) {
      relations.set(column, column);
      const id = `${column}_id`;
      renamed.set(column, names.has(fold(id)) ? `${column}_value` : id);
    } else relations.set(column, short);
  }
  return { relations, renamed };
}

function relationsOf(
  table: Table,
  byId: ReadonlyMap<Identity, Table>,
  options: DatabaseOptions,
  notes: Notes,
): readonly SourceRelation[] {
  const links = relationColumns(table);
  const named = (text: string): string => (options.names === 'camel' ? camel(text, 'lower') : text);
  const seen = new Set<string>();
  return table.foreignKeys.flatMap((each): SourceRelation[] => {
    const place = `${table.name}.${each.columns.join(', ')}`;
    const target = byId.get(each.table);
    const [column = ''] = each.columns;
    const id = JSON.stringify([table.id, each.columns, each.table, each.toColumns]);
    if (seen.has(id)) return [];
    seen.add(id);
    if (target === undefined) {
      const reason = 'the table that it leads to is not in the model';
      notes.add('import/relation-lost', place, { relation: each.name, reason });
      return [];
    }
    const short = each.columns.length === 1 ? (links.relations.get(column) ?? '') : '';
    const name = short === '' ? (target.calledAfter ?? target.name) : short;
    const siblings = table.foreignKeys.filter((other) => other.table === each.table);
    const back = table.calledAfter ?? table.name;
    return [
      {
        id,
        place,
        from: { table: table.id, fields: each.columns.map((from) => columnId(table.id, from)) },
        to: { table: target.id, fields: each.toColumns.map((to) => columnId(target.id, to)) },
        name: named(name),
        inverse: named(siblings.length > 1 ? `${back}_${name}` : back),
        onDelete: each.onDelete,
        exposed: true,
      },
    ];
  });
}

/** `order_items` → `OrderItems` or `orderItems`; neither singular nor plural is guessed. */
function camel(text: string, first: 'upper' | 'lower'): string {
  const words = text
    .split(/[^\p{L}\p{N}]+/u)
    .filter((each) => each !== '')
    .map((each) => (/^[^\p{Ll}]+$/u.test(each) ? each.toLowerCase() : each));
  const joined = words
    .map((each, index) => (index === 0 ? each : each.slice(0, 1).toUpperCase() + each.slice(1)))
    .join('');
  if (joined === '') return text;
  const head = joined.slice(0, 1);
  return (first === 'upper' ? head.toUpperCase() : head.toLowerCase()) + joined.slice(1);
}
