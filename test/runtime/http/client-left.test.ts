import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: left
dataclasses:
  Item: { attributes: { ID: { type: integer, key: true }, name: string } }
`;

describePostgres('A read whose client has left', () => {
  it('is cancelled in the database, and the server goes on', async () => {
    const { url, drop } = await postgresDatabase();
    const app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: url, environment: { DATABASE_POOL: '2' } },
    );
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    const [locking, watching] = [1, 2].map(() => new Client({ connectionString: url })) as [
      Client,
      Client,
    ];
    await locking.connect();
    await watching.connect();
    const waiting = async (): Promise<number> => {
      const { rows } = await watching.query<{ readonly n: number }>(
        `select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0]?.n ?? 0;
    };
    const until = async (count: number): Promise<void> => {
      while ((await waiting()) !== count) await setTimeout(10);
    };
    await locking.query('begin; lock table "Item" in access exclusive mode');
    const leaving = new AbortController();
    // As many as there are connections.
    const asked = [1, 2].map((key) =>
      fetch(`${origin}/rest/Item(${key})`, { signal: leaving.signal }),
    );
    await until(2);
    leaving.abort();
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(
      asked.map(() => 'rejected'),
    );
    await until(0);
    await locking.query('commit');
    expect((await fetch(`${origin}/rest/Item`)).status).toBe(200);
    await locking.end();
    await watching.end();
    await app.close();
    await drop();
  });
});
