import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { hasPgBouncer, PgBouncer } from '../../durability/support/pgbouncer.js';
import { describePostgres, postgresDatabase } from '../../support/postgres.js';
import { create, modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: left
dataclasses:
  Item: { attributes: { ID: { type: integer, key: true }, name: string } }
`;

describePostgres('A read whose client has left', () => {
  /** @param pooler whose connections have other numbers of processes than those of the database */
  async function isCancelled(pooler?: PgBouncer): Promise<void> {
    const { url, drop } = await postgresDatabase();
    const app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: pooler?.url(url) ?? url, environment: { DATABASE_POOL: '2' } },
    );
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    await create(app, 'Item', [{ ID: 1 }, { ID: 2 }]);
    const database = new Client({ connectionString: url });
    await database.connect();
    const until = async (sleeping: number): Promise<void> => {
      for (;;) {
        const { rowCount } = await database.query(
          `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
        );
        if (rowCount === sleeping) return;
        await setTimeout(10);
      }
    };
    await database.query(`alter table "Item" rename to "Slow";
      create view "Item" as select "Slow".* from "Slow", pg_sleep(600)`);
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
    await database.query('drop view "Item"; alter table "Slow" rename to "Item"');
    expect((await fetch(`${origin}/rest/Item(1)`)).status).toBe(200);
    await database.end();
    await app.close();
    await drop();
  }

  it('is cancelled in the database, and the server goes on', () => isCancelled());

  it.skipIf(!hasPgBouncer)('is cancelled behind PgBouncer in session mode', async () => {
    const { url, drop } = await postgresDatabase();
    const pooler = await PgBouncer.start(url, 3, 'session');
    await isCancelled(pooler);
    await pooler.stop();
    await drop();
  });
});
