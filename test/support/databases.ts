import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { afterAll, describe } from 'vitest';
import type { Model } from '../../generator/model/model.js';
import {
  describePostgres,
  postgresCopies,
  postgresDatabase,
  type TestDatabase,
} from './postgres.js';

/** A database system that a test runs on. */
export interface TestDatabases {
  readonly driver: Model['databases'][number];
  /** An empty database. */
  readonly create: () => Promise<TestDatabase>;
  /**
   * Creates databases with the same content: `prepare` runs once on an empty one, which is then
   * copied. Is called in a `describe`, after whose tests that one is removed.
   */
  readonly copies: (prepare: (url: string) => Promise<void>) => () => Promise<TestDatabase>;
  /** Runs one statement outside of the servers. */
  readonly run: (url: string, sql: string) => Promise<readonly (readonly unknown[])[]>;
  /** Lists tables, columns, rules and indexes. */
  readonly schema: string;
}

const sqlite: TestDatabases = {
  driver: 'sqlite',
  create: () => {
    const folder = mkdtempSync(join(tmpdir(), 'drs-property-'));
    const drop = (): Promise<void> => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    };
    return Promise.resolve({ url: `sqlite:${join(folder, 'data.sqlite')}`, drop });
  },
  copies: (prepare) => {
    let template: TestDatabase | undefined;
    afterAll(() => template?.drop());
    return async () => {
      if (template === undefined) {
        template = await sqlite.create();
        await prepare(template.url);
      }
      const database = await sqlite.create();
      copyFileSync(fileOf(template.url), fileOf(database.url));
      return database;
    };
  },
  run: (url, sql) =>
    new Promise((resolve) => {
      const database = new Database(fileOf(url));
      try {
        const statement = database.prepare(sql);
        if (statement.reader) resolve(statement.raw().all() as unknown[][]);
        else statement.run();
        resolve([]);
      } finally {
        database.close();
      }
    }),
  schema: 'select name, sql from sqlite_schema order by name',
};

function fileOf(url: string): string {
  return url.slice('sqlite:'.length);
}

/** Number of the type in PostgreSQL's catalog. */
const bigint = 20;

const postgres: TestDatabases = {
  driver: 'postgres',
  create: () => postgresDatabase(),
  copies: postgresCopies,
  run: async (url, sql) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const query = { text: sql, rowMode: 'array' };
      const { rows, fields } = await client.query<unknown[]>(query);
      // The same type as SQLite returns.
      return rows.map((row) =>
        row.map((each, at) =>
          fields[at]?.dataTypeID === bigint && each !== null ? Number(each) : each,
        ),
      );
    } finally {
      await client.end();
    }
  },
  schema: `select conrelid::regclass::text as "table", pg_get_constraintdef(oid) as "text" from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n'
    union all select attrelid::regclass::text, attname || attnotnull || format_type(atttypid, null) || coalesce(pg_get_expr(adbin, adrelid), '')
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum join pg_class c on c.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
    union all select indrelid::regclass::text, pg_get_indexdef(indexrelid) || indisvalid from pg_index
      join pg_class c on c.oid = indexrelid where relnamespace = 'public'::regnamespace order by 1, 2`,
};

/** The database systems by their names; that of PostgreSQL may be missing here. */
export const testDatabases: Readonly<Record<TestDatabases['driver'], TestDatabases>> = {
  sqlite,
  postgres,
};

/** `describe` once for each database system. */
export function describeDatabases(name: string, tests: (databases: TestDatabases) => void): void {
  describe(`${name}, on SQLite`, () => {
    tests(sqlite);
  });
  describePostgres(`${name}, on PostgreSQL`, () => {
    tests(postgres);
  });
}
