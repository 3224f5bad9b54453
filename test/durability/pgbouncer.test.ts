import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import { Client as DatabaseClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf, serverOf } from '../support/server.js';
import { History, step } from './support/history.js';
import { hasPgBouncer, PgBouncer } from './support/pgbouncer.js';
import { Client, severalClasses, severalModel } from '../support/processes/several.js';
import { sampled } from '../support/long.js';

const model = { ...modelOf(severalModel), databases: ['postgres'] } as const;

describe.skipIf(!hasPgBouncer || !hasPostgres)(
  'Servers behind PgBouncer in transaction mode',
  () => {
    let database: TestDatabase;
    let pooler: PgBouncer;
    const servers: FastifyInstance[] = [];

    beforeAll(async () => {
      database = await postgresDatabase();
      pooler = await PgBouncer.start(database.url, 3);
    });
    afterAll(async () => {
      for (const each of servers) await each.close();
      await pooler.stop();
      await database.drop();
    });

    /** @param options in the URL, such as a `search_path` */
    async function open(
      environment: Readonly<Record<string, string>> = {},
      options = '',
    ): Promise<string> {
      const app = await serverOf(
        model,
        {
          databaseUrl: pooler.url(database.url),
          environment: {
            DATABASE_POOLER: 'transaction',
            DATABASE_DIRECT_URL: `${database.url}${options}`,
            DATABASE_POOL: '6',
            ...environment,
          },
        },
        severalClasses,
      );
      servers.push(app);
      await app.listen({ port: 0, host: '127.0.0.1' });
      return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    }

    async function direct(text: string): Promise<readonly unknown[][]> {
      const client = new DatabaseClient({ connectionString: database.url });
      await client.connect();
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
      await client.end();
      return rows;
    }

    it('answer as one without it, each with the tables of its own schema', async () => {
      await direct('create schema other');
      const origins = [await open(), await open({}, '?options=-c%20search_path%3Dother')];
      const made = origins.map(async (origin, at) => {
        const client = new Client(origin);
        for (let count = 0; count < 40; count += 1) {
          const saved = await client.post('/Item?$method=update', [{ name: `${at}` }]);
          expect(saved.text).not.toContain('__ERROR');
          const { json } = await client.get(`/Item?$filter="name=${at}"&$top=1`);
          expect(json).toMatchObject({ __COUNT: count + 1 });
          expect((await client.get('/Item?$top=1')).json).toMatchObject({ __COUNT: count + 1 });
        }
        client.close();
      });
      await Promise.all(made);
      for (const [at, schema] of ['public', 'other'].entries()) {
        const rows = await direct(`select distinct "name" from "${schema}"."Item"`);
        expect(rows).toEqual([[`${at}`]]);
      }
    });

    it('answer as one without it, in random histories', async () => {
      const origin = await open();
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), (steps) =>
          new History(origin).run(steps),
        ),
        { numRuns: Number(process.env['DURABILITY_HISTORIES'] ?? sampled(3)) },
      );
    });

    it('use many connections of it at once, in transactions of class code too', async () => {
      const origin = await open();
      const client = new Client(origin);
      const { json } = await client.post(
        '/Item?$method=update',
        Array.from({ length: 20 }, () => ({ name: 'many' })),
      );
      const entities = (json as { readonly __ENTITIES: readonly { readonly __KEY: string }[] })
        .__ENTITIES;
      const held = entities.map(async ({ __KEY: key }) => {
        const own = new Client(origin);
        const user = `user ${key}`;
        expect((await own.post('/$directory/login', [user, 'right'])).status).toBe(200);
        for (const text of ['one', 'two', 'three']) {
          const { status } = await own.post('/$catalog/hold', [Number(key), `${key} ${text}`, '.']);
          expect(status).toBe(200);
        }
        expect((await own.get(`/Item(${key})`)).json).toMatchObject({
          __STAMP: 4,
          name: `${key} three`,
        });
        own.close();
      });
      await Promise.all(held);
      client.close();
      const rows = await direct(
        `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name = 'drs-gen'`,
      );
      expect(Number(rows[0]?.[0])).toBeLessThanOrEqual(3);
    });

    it('refuse a start that does not know of it, and name the settings', async () => {
      const start = open({ DATABASE_POOLER: '' });
      await expect(start).rejects.toThrow(
        'Set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL to the URL of PostgreSQL itself',
      );
      const pooled = { DATABASE_DIRECT_URL: pooler.url(database.url) };
      await expect(open(pooled)).rejects.toThrow('a pooler lends its connections');
    });
  },
);

describe('DATABASE_POOLER', () => {
  it.each([
    [{ DATABASE_POOLER: 'yes' }, 'DATABASE_POOLER is "yes"; it must be transaction'],
    [{ DATABASE_POOLER: 'transaction' }, 'DATABASE_DIRECT_URL must be the URL of PostgreSQL'],
    [
      { DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: 'http://other' },
      'DATABASE_DIRECT_URL must be the URL of PostgreSQL',
    ],
  ])('%j is refused', async (environment, message) => {
    const options = { databaseUrl: 'postgres://localhost:1/none', environment };
    await expect(serverOf(model, options, severalClasses)).rejects.toThrow(message);
  });
});
