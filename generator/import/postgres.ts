import type { Client } from 'pg';
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
import { mostDigits } from '../../runtime/protocol/decimal.js';
import type { Identity, SourceModel, StorageType } from './source-model.js';
import { asType, constantOf, narrowed, ruleOf, type Rule } from './sql.js';

/** Reads the structure of a PostgreSQL database in one transaction that can only read. */
export async function readPostgres(
  url: string,
  options: DatabaseOptions,
  notes: Notes,
): Promise<SourceModel> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 15_000,
    statement_timeout: 60_000,
    application_name: 'drs-gen import',
  });
  const place = shownUrl(url);
  // The end of a broken connection is reported by the query that runs.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Names outside of the catalog are shown with their schema, and no function of a user runs.
    await client.query('SET LOCAL search_path = pg_catalog');
    const structure = await readStructure(client);
    const tables = new Reader(structure, options, notes).tables();
    if (isOurs(tables)) throw new ImportStop('usage', place, ownDatabase);
    return {
      kind: 'postgres',
      names: [structure.database],
      database: 'postgres',
      ...tablesOf(tables, options, notes, await longKeys(client, tables, notes)),
      functions: [],
      singletons: [],
      remarks: [],
    };
  } catch (error) {
    if (error instanceof ImportStop) throw error;
    const reason = serverReason(error);
    if (reason === undefined) throw error;
    throw new ImportStop('import/unreadable', place, reason);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Keys with integers beyond 2^53. Texts that differ only in case are told. */
async function longKeys(
  client: Client,
  tables: readonly Table[],
  notes: Notes,
): Promise<ReadonlySet<Identity>> {
  const long = new Set<Identity>();
  const first = async <Row extends object>(sql: string): Promise<Row | undefined> => {
    await client.query('SAVEPOINT "look"');
    try {
      return (await client.query<Row>(sql)).rows[0];
    } catch (error) {
      // Who may read the structure need not be allowed to read rows, and reading may take too long.
      if (serverReason(error) === undefined) throw error;
      await client.query('ROLLBACK TO "look"');
      return undefined;
    }
  };
  for (const each of uniqueColumns(tables)) {
    const { table, column, isByItself } = each;
    const name = client.escapeIdentifier(column.name);
    const parts = JSON.parse(table.id.slice('table:'.length)) as string[];
    const from = parts.map((part) => client.escapeIdentifier(part)).join('.');
    if (column.is64 === true) {
      const most = String(Number.MAX_SAFE_INTEGER);
      const sql = `SELECT max(${name}) > ${most} OR min(${name}) < -${most} AS long FROM ${from}`;
      const found = await first<{ long: boolean | null }>(sql);
      if (found?.long === true) long.add(columnId(table.id, column.name));
    } else if (column.type === 'string' && isByItself) {
      const text = `${name}::text`;
      const found = await first<Parameters<typeof tellCase>[1]>(
        `SELECT count(*) OVER ()::int AS groups, min(${text}) AS first, max(${text}) AS second FROM ${from}
          GROUP BY lower(${text}) HAVING count(*) > 1 LIMIT 1`,
      );
      if (found !== undefined) tellCase(each, found, notes);
    }
  }
  return long;
}

/** What the server or the network says; `undefined` for a bug of ours. */
export function serverReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const isOfDriver = /timeout|SASL|terminated|Invalid URL/i.test(error.message);
  if (code === undefined && !isOfDriver) return undefined;
  return error.message === '' ? code : error.message;
}

/** A URL without its password. */
export function shownUrl(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return 'postgres://…';
  }
}

interface RelationRow {
  readonly oid: string;
  readonly schema: string;
  readonly name: string;
  readonly kind: 'r' | 'p' | 'v' | 'm' | 'f';
  readonly comment: string | null;
  readonly partition: boolean;
  readonly inherits: boolean;
  readonly security: boolean;
}

interface ColumnRow {
  readonly relation: string;
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly modifier: number;
  readonly shown: string;
  readonly required: boolean;
  readonly identity: string;
  readonly generated: string;
  readonly fallback: string | null;
  readonly sequence: boolean;
  readonly comment: string | null;
}

interface TypeRow {
  readonly oid: string;
  readonly name: string;
  readonly kind: string;
  readonly category: string;
  readonly base: string;
  readonly modifier: number;
  readonly required: boolean;
  readonly labels: readonly string[] | null;
  readonly checks: readonly string[] | null;
}

interface ConstraintRow {
  readonly relation: string;
  readonly name: string;
  readonly kind: 'p' | 'u' | 'f' | 'c' | 'x';
  readonly columns: readonly number[] | null;
  readonly target: string;
  readonly targets: readonly number[] | null;
  readonly deletes: string;
  readonly text: string;
}

interface IndexRow {
  readonly relation: string;
  readonly name: string;
  readonly columns: string;
  readonly size: number;
  readonly unique: boolean;
  readonly primary: boolean;
  readonly partial: boolean;
  readonly method: string;
}

/** Rows by the oid of their relation, each list in the order of its query. */
type OfRelations<Row> = ReadonlyMap<string, readonly Row[]>;

interface Structure {
  readonly database: string;
  readonly relations: ReadonlyMap<string, RelationRow>;
  readonly columns: OfRelations<ColumnRow>;
  readonly types: ReadonlyMap<string, TypeRow>;
  readonly constraints: OfRelations<ConstraintRow>;
  readonly indexes: OfRelations<IndexRow>;
  readonly triggers: OfRelations<{ readonly relation: string; readonly name: string }>;
}

function byRelation<Row extends { readonly relation: string }>(
  rows: readonly Row[],
): OfRelations<Row> {
  const lists = new Map<string, Row[]>();
  for (const row of rows) {
    const list = lists.get(row.relation);
    if (list === undefined) lists.set(row.relation, [row]);
    else list.push(row);
  }
  return lists;
}

/** One query for each kind of thing. */
async function readStructure(client: Client): Promise<Structure> {
  const rows = async <Row extends object>(sql: string): Promise<readonly Row[]> =>
    (await client.query<Row>(sql)).rows;
  const own = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (
    SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;
  const [database] = await rows<{ name: string }>('SELECT current_database()::text AS name');
  const relations = await rows<RelationRow>(`
    SELECT c.oid::text AS oid, n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind,
      obj_description(c.oid, 'pg_class') AS comment, c.relispartition AS partition, c.relrowsecurity AS security,
      EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid) AS inherits
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${own}
    ORDER BY n.nspname <> 'public', n.nspname::text COLLATE "C", c.relname::text COLLATE "C"`);
  const columns = await rows<ColumnRow>(`
    SELECT a.attrelid::text AS relation, a.attname::text AS name, a.attnum AS number, a.atttypid::text AS type,
      a.atttypmod AS modifier, format_type(a.atttypid, a.atttypmod) AS shown, a.attnotnull AS required,
      a.attidentity::text AS identity, a.attgenerated::text AS generated,
      pg_get_expr(f.adbin, f.adrelid) AS fallback, col_description(a.attrelid, a.attnum) AS comment,
      EXISTS (SELECT 1 FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
        WHERE d.classid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
          AND d.deptype IN ('a', 'i')) AS sequence
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
    WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND ${own}
    ORDER BY a.attrelid, a.attnum`);
  const types = await rows<TypeRow>(`
    SELECT t.oid::text AS oid, t.typname::text AS name, t.typtype::text AS kind, t.typcategory::text AS category,
      t.typbasetype::text AS base, t.typtypmod AS modifier, t.typnotnull AS required,
      CASE WHEN t.typtype = 'e' THEN (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
        FROM pg_enum e WHERE e.enumtypid = t.oid) END AS labels,
      CASE WHEN t.typtype = 'd' THEN (SELECT array_agg(pg_get_constraintdef(k.oid))
        FROM pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c') END AS checks
    FROM pg_type t`);
  const constraints = await rows<ConstraintRow>(`
    SELECT k.conrelid::text AS relation, k.conname::text AS name, k.contype::text AS kind, k.conkey AS columns,
      k.confrelid::text AS target, k.confkey AS targets, k.confdeltype::text AS deletes,
      pg_get_constraintdef(k.oid) AS text
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE k.contype IN ('p', 'u', 'f', 'c', 'x') AND ${own}
    ORDER BY k.conrelid, k.contype, k.conkey, k.conname::text COLLATE "C"`);
  const indexes = await rows<IndexRow>(`
    SELECT i.indrelid::text AS relation, x.relname::text AS name, i.indkey::text AS columns,
      i.indnkeyatts AS size, i.indisunique AS unique, i.indisprimary AS primary, i.indpred IS NOT NULL AS partial,
      m.amname::text AS method
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
    JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE ${own} ORDER BY i.indrelid, x.relname::text COLLATE "C"`);
  const triggers = await rows<{ relation: string; name: string }>(`
    SELECT t.tgrelid::text AS relation, t.tgname::text AS name
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT t.tgisinternal AND ${own} ORDER BY t.tgrelid, t.tgname::text COLLATE "C"`);
  return {
    database: database?.name ?? '',
    relations: new Map(relations.map((each) => [each.oid, each])),
    columns: byRelation(columns),
    types: new Map(types.map((each) => [each.oid, each])),
    constraints: byRelation(constraints),
    indexes: byRelation(indexes),
    triggers: byRelation(triggers),
  };
}

class Reader {
  constructor(
    private readonly structure: Structure,
    private readonly options: DatabaseOptions,
    private readonly notes: Notes,
  ) {}

  tables(): readonly Table[] {
    const { schemas } = this.options;
    const relations = [...this.structure.relations.values()];
    const missing = schemas.find((each) => !relations.some(({ schema }) => schema === each));
    if (missing !== undefined) {
      throw new ImportStop('usage', missing, `the database has no tables in a schema ${missing}`);
    }
    const chosen = relations.filter(
      ({ schema, partition }) => !partition && (schemas.length === 0 || schemas.includes(schema)),
    );
    const isOneSchema = new Set(chosen.map(({ schema }) => schema)).size === 1;
    const names = new Set<string>();
    return chosen.flatMap((relation): Table[] => {
      const { schema, name, kind } = relation;
      const place = isOneSchema ? name : `${schema}.${name}`;
      if (kind === 'v' || kind === 'm' || kind === 'f') {
        const what = kind === 'v' ? 'view' : kind === 'm' ? 'materialized view' : 'foreign table';
        this.notes.add('import/view', place, { name, what });
        return [];
      }
      if (!isWanted(name, place, this.options, this.notes)) return [];
      const calledAfter = names.has(fold(name)) ? `${schema}_${name}` : name;
      names.add(fold(calledAfter));
      return [this.#table(relation, place, calledAfter)];
    });
  }

  #table(relation: RelationRow, place: string, calledAfter: string): Table {
    const { oid, comment, inherits, security } = relation;
    const { columns, constraints, triggers } = this.structure;
    const rows = columns.get(oid) ?? [];
    const named = (numbers: readonly number[] | null): readonly string[] =>
      (numbers ?? []).map((number) => rows.find((each) => each.number === number)?.name ?? '');
    const own = constraints.get(oid) ?? [];
    if (inherits) this.notes.add('import/inheritance', place, { name: calledAfter });
    const hooks = (triggers.get(oid) ?? []).map(({ name }) => name);
    if (hooks.length > 0) {
      const became = 'they are left out; class code has events instead';
      this.notes.add('import/trigger', place, { what: `Triggers: ${hooks.join(', ')}`, became });
    }
    if (security) {
      const reason = 'restrict and roles of the model take its place';
      this.notes.add('import/rule-lost', place, { rule: 'Row security', reason });
    }
    const { uniques, indexes } = this.#indexes(oid, place, rows);
    const built = rows.flatMap((each) => this.#column(each, place));
    return {
      id: tableId(relation),
      name: place,
      calledAfter,
      columns: this.#withChecks(built, own, place),
      key: named(own.find(({ kind }) => kind === 'p')?.columns ?? null),
      uniques,
      indexes,
      foreignKeys: own
        .filter(({ kind }) => kind === 'f')
        .map((each) => this.#foreignKey(each, named)),
      description: comment ?? undefined,
    };
  }

  #foreignKey(
    { name, columns, target, targets, deletes }: ConstraintRow,
    named: (numbers: readonly number[] | null) => readonly string[],
  ): ForeignKey {
    const relation = this.structure.relations.get(target);
    const theirs = this.structure.columns.get(target) ?? [];
    return {
      name,
      columns: named(columns),
      table: relation === undefined ? '' : tableId(relation),
      toColumns: (targets ?? []).map(
        (number) => theirs.find((each) => each.number === number)?.name ?? '',
      ),
      onDelete:
        deletes === 'c' ? 'cascade' : deletes === 'n' || deletes === 'd' ? 'setNull' : 'restrict',
    };
  }

  #indexes(
    oid: string,
    place: string,
    rows: readonly ColumnRow[],
  ): { readonly uniques: readonly Index[]; readonly indexes: readonly Index[] } {
    const uniques: Index[] = [];
    const indexes: Index[] = [];
    for (const each of this.structure.indexes.get(oid) ?? []) {
      if (each.primary) continue;
      const { name } = each;
      const numbers = each.columns.split(' ').map(Number).slice(0, each.size);
      const columns = numbers.flatMap(
        (number) => rows.find((row) => row.number === number)?.name ?? [],
      );
      const reason = each.partial
        ? 'it is over a part of the rows'
        : columns.length < numbers.length
          ? 'it is over an expression'
          : each.method === 'btree' || each.method === 'hash'
            ? undefined
            : `it is of the kind ${each.method}`;
      if (reason === undefined) (each.unique ? uniques : indexes).push({ name, columns });
      else if (each.unique) this.notes.add('import/unique-left-out', place, { name, reason });
      else this.notes.add('import/index-left-out', place, { name, reason });
    }
    return { uniques, indexes };
  }

  #column(row: ColumnRow, table: string): readonly Column[] {
    const place = `${table}.${row.name}`;
    const resolved = this.#resolved(row);
    const typed = this.#typeOf(resolved, row, place);
    if (typed === undefined) return [];
    const isComputed = row.generated !== '';
    const isDrawn = row.identity !== '' || (row.sequence && /^nextval\(/.test(row.fallback ?? ''));
    const isUuid = /^(?:[\w"]+\.)?(?:gen_random_uuid|uuid_generate_v4|uuidv4|uuidv7)\(\)$/.test(
      row.fallback ?? '',
    );
    if (isComputed) this.notes.add('import/generated', place, { expression: row.fallback ?? '' });
    const generated =
      isDrawn && typed.type === 'integer'
        ? 'sequence'
        : isUuid && typed.type === 'uuid'
          ? 'uuid'
          : undefined;
    const column: Column = {
      name: row.name,
      ...typed,
      generated,
      isNullable: !row.required && !resolved.required,
      ...(isComputed ? { readOnly: true } : {}),
      description: row.comment ?? undefined,
      default:
        isComputed || generated !== undefined || row.fallback === null
          ? undefined
          : this.#default(row.fallback, typed, place),
    };
    return [this.#withRules(column, resolved.checks, place)];
  }

  #default(sql: string, { type, dateOnly }: Typed, place: string): Column['default'] {
    const constant = constantOf(sql);
    if (constant === null) return undefined;
    const value = constant === undefined ? undefined : asType(type, dateOnly === true, constant);
    if (value === undefined) this.notes.add('import/default-lost', place, { value: sql });
    return value;
  }

  /** The type below domains, with their rules. */
  #resolved({ type, modifier }: ColumnRow): Resolved {
    const checks: string[] = [];
    let required = false;
    let at = this.structure.types.get(type);
    let size = modifier;
    while (at?.kind === 'd') {
      checks.push(...(at.checks ?? []));
      required ||= at.required;
      if (at.modifier !== -1) size = at.modifier;
      at = this.structure.types.get(at.base);
    }
    return { type: at, modifier: size, checks, required };
  }

  #typeOf({ type, modifier }: Resolved, row: ColumnRow, place: string): Typed | undefined {
    const { notes } = this;
    const name = type?.name ?? '';
    if (type?.kind === 'e') return { type: 'string', enum: type.labels ?? [] };
    if (type?.category === 'A' && name.startsWith('_')) return { type: 'object' };
    if (type !== undefined && ['c', 'r', 'm'].includes(type.kind)) return { type: 'object' };
    switch (name) {
      case 'int2':
      case 'int4':
        return { type: 'integer' };
      case 'int8':
      case 'oid':
        return { type: 'integer', is64: true };
      case 'numeric': {
        const [precision, scale] = [((modifier - 4) >> 16) & 0xffff, (modifier - 4) & 0x7ff];
        if (modifier >= 4 && scale === 0 && precision <= 15) return { type: 'integer' };
        if (modifier >= 4 && precision <= mostDigits && scale <= precision) {
          return { type: 'decimal', precision, scale };
        }
        notes.add('import/decimal', place, { type: row.shown });
        return { type: 'number' };
      }
      case 'money':
        return { type: 'decimal', precision: mostDigits, scale: 2 };
      case 'float4':
      case 'float8':
        return { type: 'number' };
      case 'bool':
        return { type: 'boolean' };
      case 'text':
      case 'citext':
        return { type: 'string' };
      case 'varchar':
      case 'bpchar':
        return { type: 'string', maxLength: modifier >= 4 ? modifier - 4 : undefined };
      case 'name':
        return { type: 'string', maxLength: 63 };
      case 'uuid':
        return { type: 'uuid' };
      case 'date':
        return { type: 'date', dateOnly: true };
      case 'timestamp':
      case 'timestamptz':
        return { type: 'date' };
      case 'time':
      case 'timetz':
      case 'interval':
        return { type: 'duration' };
      case 'json':
      case 'jsonb':
      case 'hstore':
        return { type: 'object' };
      case 'bytea':
        return { type: 'blob' };
      case 'vector':
      case 'halfvec':
        return { type: 'vector', dimensions: modifier > 0 ? modifier : undefined };
      case 'tsvector':
        notes.add('import/type', place, { type: name, became: 'the column is left out' });
        return undefined;
      default:
        notes.add('import/type', place, {
          type: row.shown,
          became: 'it is a string that clients cannot write',
        });
        return { type: 'string', readOnly: true };
    }
  }

  /** Adds what the rules of a domain say of its value. */
  #withRules(column: Column, checks: readonly string[], place: string): Column {
    return checks.reduce((built, text) => {
      const rule = ruleOf(insideCheck(text), {
        brackets: false,
        isInteger: () => column.type === 'integer',
      });
      if (rule?.column === 'value') return { ...built, ...narrowed(built, rule.rule) };
      this.#tellLost(text, place);
      return built;
    }, column);
  }

  #withChecks(
    columns: readonly Column[],
    constraints: readonly ConstraintRow[],
    place: string,
  ): readonly Column[] {
    const found = new Map<string, Rule>();
    for (const { kind, text } of constraints) {
      if (kind === 'x') this.#tellLost(text, place);
      if (kind !== 'c') continue;
      const rule = ruleOf(insideCheck(text), {
        brackets: false,
        isInteger: (name) => columns.find((each) => each.name === name)?.type === 'integer',
      });
      if (rule === undefined) this.#tellLost(text, place);
      else found.set(rule.column, narrowed(found.get(rule.column) ?? {}, rule.rule));
    }
    return columns.map((each) => ({ ...each, ...narrowed(each, found.get(each.name) ?? {}) }));
  }

  #tellLost(rule: string, place: string): void {
    const reason = 'the model has no such rule; class code can check it in validateSave';
    this.notes.add('import/rule-lost', place, { rule, reason });
  }
}

interface Resolved {
  readonly type: TypeRow | undefined;
  readonly modifier: number;
  readonly checks: readonly string[];
  readonly required: boolean;
}

interface Typed {
  readonly type: StorageType;
  readonly is64?: boolean;
  readonly dateOnly?: boolean;
  readonly maxLength?: number | undefined;
  readonly precision?: number;
  readonly scale?: number;
  readonly dimensions?: number | undefined;
  readonly enum?: readonly string[];
  readonly readOnly?: boolean;
}

/** `CHECK ((a > 0)) NOT VALID` → `((a > 0))` */
function insideCheck(text: string): string {
  return text.replace(/^CHECK /, '').replace(/ (?:NO INHERIT|NOT VALID|NOT ENFORCED)+$/g, '');
}

function tableId({ schema, name }: RelationRow): Identity {
  return `table:${JSON.stringify([schema, name])}`;
}
