import { spawn } from 'node:child_process';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { create, modelOf, serverOf, writeServer } from '../support/server.js';

describeDatabases('A fill', (databases) => {
  const isSqlite = databases.driver === 'sqlite';
  let database: TestDatabase;

  beforeEach(async () => {
    database = await databases.create();
  });
  afterEach(async () => {
    await database.drop();
  });

  const model = `
drs: 1
name: waited
database: ${databases.driver}
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      lastName: string
`;
  const migration = `import type { Migration } from '#runtime/definition';
export const migration: Migration = {
  from: '1', to: '2',
  steps: [{ kind: 'fill', table: 'Person', set: { lastName: '"name" || \\'!\\'' } }],
};
`;

  const fill = async (rows: number): Promise<void> => {
    const app = await serverOf(model, { databaseUrl: database.url, environment: {} });
    await app.ready();
    await create(
      app,
      'Person',
      Array.from({ length: rows }, (_, index) => ({ name: `${index}` })),
    );
    await app.close();
  };

  /** Runs `node dist/src/migrate.js`. */
  const migrate = (
    onOutput: (text: string) => void = () => undefined,
  ): Promise<{ readonly code: number | null; readonly err: string }> =>
    new Promise((resolve) => {
      const written = { 'src/migrations/0001-first.ts': migration };
      const folder = compiledServer(writeServer(modelOf(model), written));
      const child = spawn(process.execPath, [join(folder, 'dist/src/migrate.js')], {
        env: { ...process.env, DATABASE_URL: database.url },
      });
      let [out, err] = ['', ''];
      child.stdout.on('data', (data: Buffer) => {
        out += data.toString();
        onOutput(out);
      });
      child.stderr.on('data', (data: Buffer) => (err += data.toString()));
      child.on('close', (code) => {
        resolve({ code, err });
      });
    });

  it.skipIf(isSqlite)('waits for transactions that lock its rows for long', async () => {
    await fill(600);
    const other = new Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('begin');
      await other.query(`update "Person" set "name" = 'held' where "ID" = 550`);
      let released: Promise<unknown> | undefined;
      const ended = await migrate((text) => {
        if (/waits for other transactions/.test(text)) released ??= other.query('commit');
      });
      expect(ended).toEqual({ code: 0, err: '' });
      await released;
      const { rows } = await other.query<{ count: string }>(
        `select count(*) as "count" from "Person" where "lastName" = "name" || '!'`,
      );
      expect(rows).toEqual([{ count: '600' }]);
    } finally {
      await other.end();
    }
  });

  it.skipIf(!isSqlite)('lets a server write between its transactions', async () => {
    const batches = 60;
    await fill(batches * 500);
    const file = new Sqlite(database.url.slice('sqlite:'.length), { readonly: true });
    const app = await serverOf(model, { databaseUrl: database.url, environment: {} });
    try {
      await app.ready();
      // The progress of the fill when a change was acknowledged.
      const positions = new Set<unknown>();
      const ending = new AbortController();
      const writing = (async () => {
        while (!ending.signal.aborted) {
          await create(app, 'Person', [{ name: 'new' }]);
          const text = 'select "position" from "__migration" where "position" is not null';
          positions.add(file.prepare(text).pluck().get());
        }
      })();
      const ended = await migrate();
      ending.abort();
      await writing;
      expect(ended).toEqual({ code: 0, err: '' });
      expect(positions.size).toBeGreaterThan(batches / 4);
    } finally {
      await app.close();
      file.close();
    }
  });
});
