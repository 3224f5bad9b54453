import type { Client } from 'pg';
import { serverReason, shownUrl } from '../import/postgres.js';
import type { Identity } from '../import/source-model.js';
import { ImportStop } from '../import/messages.js';
import { type Place, type ReadColumn, type RowSource, type SourceRow } from './rows.js';

/** The rows of a PostgreSQL database, in one transaction that can only read: none changes meanwhile. */
export async function postgresRows(url: string): Promise<RowSource> {
  const shown = shownUrl(url);
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 15_000,
    application_name: 'drs-gen import-data',
    // Values come as PostgreSQL writes them, bytes apart.
    types: { getTypeParser: (type: number) => (type === bytea ? fromHex : asIs) },
  });
  client.on('error', () => undefined);
  const ask = async <Row extends unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> => {
    try {
      return (await client.query<Row>({ text, values: [...values], rowMode: 'array' })).rows;
    } catch (error) {
      const reason = serverReason(error);
      if (reason === undefined) throw error;
      throw new ImportStop('import/unreadable', shown, reason);
    }
  };
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw new ImportStop('import/unreadable', shown, serverReason(error) ?? String(error));
  }
  await ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await ask('SET LOCAL search_path = pg_catalog');
  await ask("SET LOCAL TimeZone = 'UTC'");
  await ask("SET LOCAL DateStyle = 'ISO, YMD'");
  await ask('SET LOCAL extra_float_digits = 3');
  return new PostgresRows(client, shown, ask);
}

const bytea = 17;

function asIs(text: string): string {
  return text;
}

function fromHex(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

type Ask = <Row extends unknown[]>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

interface TableFacts {
  /** The table as a FROM clause names it. */
  readonly from: string;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** SQL by which rows are read in order, with its type. */
  readonly order: readonly (readonly [sql: string, type: string])[];
  readonly columns: ReadonlyMap<string, ColumnFacts>;
  readonly hasBytes: boolean;
}

interface ColumnFacts {
  /** The type as SQL writes it. */
  readonly type: string;
  /** The kind of the type, or of the type that a domain is based on: `pg_type.typtype`. */
  readonly kind: string;
  readonly base: string;
}

class PostgresRows implements RowSource {
  readonly #facts = new Map<Identity, Promise<TableFacts>>();

  constructor(
    private readonly client: Client,
    readonly shown: string,
    private readonly ask: Ask,
  ) {}

  tableName(table: Identity): string {
    const [schema, name] = partsOf(table);
    return schema === 'public' ? name : `${schema}.${name}`;
  }

  async count(table: Identity): Promise<number> {
    const { from } = await this.#factsOf(table);
    const [row] = await this.ask<[string]>(`SELECT count(*) FROM ${from}`);
    return Number(row?.[0]);
  }

  async read(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): Promise<readonly SourceRow[]> {
    const facts = await this.#factsOf(table);
    const { order, key, from, hasBytes } = facts;
    const list = [
      ...order.map(([sql]) => `${sql}::text`),
      ...key.map((each) => `t.${quoted(each)}::text`),
      ...columns.map((each) => valueSql(each, facts)),
    ];
    const places = order.map(([sql]) => sql).join(', ');
    const values = order.map(([, type], at) => `$${String(at + 1)}::text::${type}`);
    const where = after === undefined ? '' : ` WHERE (${places}) > (${values.join(', ')})`;
    const rows = await this.ask(
      `SELECT ${list.join(', ')} FROM ${from} AS t${where} ORDER BY ${places} LIMIT ${String(hasBytes ? Math.min(rowsWithBytes, limit) : limit)}`,
      after ?? [],
    );
    return rows.map((row): SourceRow => {
      const place = row.slice(0, order.length).map(String);
      const own = row.slice(order.length, order.length + key.length);
      return {
        place,
        identity: own.length > 0 ? own : place,
        values: row.slice(order.length + key.length),
      };
    });
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }

  #factsOf(table: Identity): Promise<TableFacts> {
    let facts = this.#facts.get(table);
    if (facts === undefined) {
      facts = this.#readFacts(table);
      this.#facts.set(table, facts);
    }
    return facts;
  }

  async #readFacts(table: Identity): Promise<TableFacts> {
    const [schema, name] = partsOf(table);
    const columns = await this.ask<[string, string, string, string, string]>(
      `WITH RECURSIVE base AS (
        SELECT a.attname::text AS name, a.attnum, format_type(a.atttypid, a.atttypmod) AS shown, a.atttypid AS type
        FROM pg_attribute a WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.name, b.attnum, b.shown, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
      )
      SELECT b.name, b.shown, t.typtype::text, t.typcategory::text, format_type(t.oid, NULL)
      FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype <> 'd' ORDER BY b.attnum`,
      [`${quoted(schema)}.${quoted(name)}`],
    );
    const keys = await this.ask<[string]>(
      `SELECT a.attname::text FROM pg_constraint k CROSS JOIN unnest(k.conkey) WITH ORDINALITY AS u (number, position)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number
        WHERE k.conrelid = $1::text::regclass AND k.contype = 'p' ORDER BY u.position`,
      [`${quoted(schema)}.${quoted(name)}`],
    );
    const [relation] = await this.ask<[string]>(
      'SELECT relkind::text FROM pg_class WHERE oid = $1::text::regclass',
      [`${quoted(schema)}.${quoted(name)}`],
    );
    const isPartitioned = relation?.[0] === 'p';
    const facts = new Map(
      columns.map(([column, type, kind, category, base]): [string, ColumnFacts] => [
        column,
        { type, kind: category === 'A' ? 'array' : kind, base },
      ]),
    );
    const key = keys.map(([column]) => column);
    const physical: readonly [string, string][] = [
      ...(isPartitioned ? ([['t.tableoid', 'oid']] as [string, string][]) : []),
      ['t.ctid', 'tid'],
    ];
    return {
      // Children by inheritance are tables of their own.
      from: `${isPartitioned ? '' : 'ONLY '}${quoted(schema)}.${quoted(name)}`,
      key,
      order:
        key.length === 0
          ? physical
          : key.map((each): [string, string] => [
              `t.${quoted(each)}`,
              facts.get(each)?.type ?? 'text',
            ]),
      columns: facts,
      hasBytes: columns.some(([, , , , base]) => base === 'bytea'),
    };
  }
}

/** Rows with bytes that are read at once. */
const rowsWithBytes = 32;

/** A column in a text that `jsonValue` understands; the server compares no text with a collation. */
function valueSql({ column, type }: ReadColumn, { columns }: TableFacts): string {
  const sql = `t.${quoted(column)}`;
  const { kind, base } = columns.get(column) ?? { kind: 'b', base: 'text' };
  if (base === 'bytea') return sql;
  if (base === 'money') return `${sql}::numeric::text`;
  if (type === 'duration' && base === 'interval') {
    // A month has no length.
    return `CASE WHEN extract(year FROM ${sql}) = 0 AND extract(month FROM ${sql}) = 0 THEN trunc(extract(epoch FROM ${sql}) * 1000)::bigint::text ELSE ${sql}::text END`;
  }
  if (type !== 'object' || base === 'json' || base === 'jsonb') return `${sql}::text`;
  if (kind !== 'r') return `to_json(${sql})::text`;
  return `CASE WHEN ${sql} IS NULL THEN NULL ELSE json_build_object('lower', lower(${sql}), 'upper', upper(${sql}), 'lowerInclusive', lower_inc(${sql}), 'upperInclusive', upper_inc(${sql}), 'isEmpty', isempty(${sql}))::text END`;
}

function partsOf(table: Identity): [schema: string, name: string] {
  return JSON.parse(table.slice('table:'.length)) as [string, string];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
