import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compiledServer } from '../support/compiled-server.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { create, modelOf, serverOf, writeServer } from '../support/server.js';

const model = `
drs: 1
name: waited
database: postgres
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

describePostgres('a fill on PostgreSQL', () => {
  let database: TestDatabase;
  let other: Client;

  beforeEach(async () => {
    database = await postgresDatabase();
    other = new Client({ connectionString: database.url });
    await other.connect();
    const app = await serverOf(model, { databaseUrl: database.url, environment: {} });
    await app.ready();
    const people = Array.from({ length: 600 }, (_, index) => ({ name: `${index}` }));
    await create(app, 'Person', people);
    await app.close();
  });
  afterEach(async () => {
    await other.end();
    await database.drop();
  });

  /** Runs `node dist/src/migrate.js`. */
  const migrate = (onOutput: (text: string) => void): Promise<{ code: number; err: string }> =>
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
        resolve({ code: code ?? -1, err });
      });
    });

  it('waits for transactions that hold its rows for longer than it waits at once', async () => {
    await other.query('begin');
    await other.query(`update "Person" set "name" = 'held' where "ID" = 550`);
    let released: Promise<unknown> | undefined;
    const ended = await migrate((text) => {
      if (/waits for transactions of others/.test(text)) released ??= other.query('commit');
    });
    expect(ended).toEqual({ code: 0, err: '' });
    await released;
    const { rows } = await other.query<{ count: string }>(
      `select count(*) as "count" from "Person" where "lastName" = "name" || '!'`,
    );
    expect(rows).toEqual([{ count: '600' }]);
  });
});
