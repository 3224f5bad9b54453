import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ConflictError,
  DatabaseUnavailableError,
  type Executor,
} from '../../../../runtime/dialect/executor.js';
import { openConnections } from '../../../../runtime/dialect/postgres/open.js';
import { Slot } from '../../../../runtime/dialect/statement.js';
import { installedPostgres } from '../../../support/postgres/binaries.js';
import { PostgresServer } from '../../../support/postgres/server.js';
import { run, statement } from './opened.js';

const installed = installedPostgres();
const count = statement('select count(*) from "t"');
const insert = statement('insert into "t" values ($1)', new Slot(0));
const wanted = {
  functions: [],
  statements: [
    'create table "t" ("a" integer primary key)',
    'create table "stamped" ("key" integer primary key, "stamp" integer not null)',
  ],
};

describe.skipIf(installed === undefined)('A server whose PostgreSQL fails', () => {
  let server: PostgresServer;
  let executor: Executor;

  const open = async (size = 4): Promise<Executor> =>
    (await openConnections({ url: server.url('postgres'), size, queryTimeout: null }, wanted))
      .executor;
  const value = async (sql: string): Promise<unknown> => executor.value(statement(sql), []);
  const counted = (): Promise<unknown> => value(count.sql);
  /** The action of an administrator, over a separate connection. */
  const administrate = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: server.url('postgres') });
    await client.connect();
    await client.query(sql);
    await client.end();
  };

  beforeAll(async () => {
    server = await PostgresServer.create(installed as string, 20);
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    executor = await open();
    await executor.write(async (transaction) => {
      await run(transaction, 'delete from "t"');
      await run(transaction, 'delete from "stamped"');
    });
  });
  afterEach(() => executor.close());

  it('has exactly the committed data after it was killed, and continues to work', async () => {
    const kept: number[] = [];
    const unknown: number[] = [];
    let isOver = false;
    const write = async (key: number): Promise<void> => {
      try {
        await executor.write(async (transaction) => {
          await transaction.run(insert, [key]);
          await transaction.run(insert, [-key]);
        });
        kept.push(key);
      } catch (error) {
        expect(error).toBeInstanceOf(DatabaseUnavailableError);
        unknown.push(key);
      }
    };
    const writer = async (first: number): Promise<void> => {
      for (let key = first; !isOver; key += 10) await write(key);
    };
    const writers = [1, 2, 3, 4, 5].map((first) => writer(first));
    while (kept.length < 200) await new Promise(setImmediate);
    await server.kill();
    while (unknown.length < 20) await new Promise(setImmediate);
    await expect(counted()).rejects.toBeInstanceOf(DatabaseUnavailableError);
    await server.start();
    const before = kept.length;
    while (kept.length < before + 50) await new Promise(setImmediate);
    isOver = true;
    await Promise.all(writers);
    const rows = await executor.rows(statement('select "a" from "t"'), []);
    const keys = new Set(rows.map(([key]) => Number(key)));
    expect(kept.filter((key) => !keys.has(key) || !keys.has(-key))).toEqual([]);
    expect([...keys].filter((key) => !keys.has(-key))).toEqual([]);
    const asked = new Set([...kept, ...unknown]);
    expect([...keys].filter((key) => !asked.has(Math.abs(key)))).toEqual([]);
  });

  it('answers after an orderly restart', async () => {
    expect(await counted()).toBe(0);
    await server.stop();
    await expect(counted()).rejects.toBeInstanceOf(DatabaseUnavailableError);
    await expect(executor.write((open) => open.run(insert, [1]))).rejects.toBeInstanceOf(
      DatabaseUnavailableError,
    );
    await server.start();
    await executor.write((transaction) => transaction.run(insert, [1]));
    expect(await counted()).toBe(1);
  });

  it('undoes a transaction whose connection is cut, without an effect on others', async () => {
    const write = executor.write(async (transaction) => {
      await transaction.run(insert, [1]);
      const id = await transaction.value(statement('select pg_backend_pid()'), []);
      await administrate(`select pg_terminate_backend(${Number(id)})`);
      await expect(transaction.run(insert, [2])).rejects.toBeInstanceOf(DatabaseUnavailableError);
      await expect(transaction.value(count, [])).rejects.toBeInstanceOf(DatabaseUnavailableError);
    });
    await expect(write).rejects.toBeInstanceOf(DatabaseUnavailableError);
    expect(await counted()).toBe(0);
    await executor.write((transaction) => transaction.run(insert, [3]));
    expect(await counted()).toBe(1);
  });

  it('stores nothing if the connection is cut before the commit', async () => {
    const write = executor.write(async (transaction) => {
      await transaction.run(insert, [1]);
      const id = await transaction.value(statement('select pg_backend_pid()'), []);
      await administrate(`select pg_terminate_backend(${Number(id)})`);
    });
    await expect(write).rejects.toBeInstanceOf(DatabaseUnavailableError);
    expect(await counted()).toBe(0);
  });

  it('answers the next requests after all connections were cut, including idle ones', async () => {
    await Promise.all([1, 2, 3].map((each) => value(`select ${each}`)));
    await administrate(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
    );
    // Requests that were sent before the cut was noticed fail; soon none fails.
    const asked = (): Promise<unknown> => counted().catch(() => 'cut');
    while ((await asked()) === 'cut') await new Promise(setImmediate);
    expect(await Promise.all([asked(), asked(), asked(), asked()])).toEqual([0, 0, 0, 0]);
  });

  it('lets one of 200 changes with the same stamp win', async () => {
    await executor.write((transaction) => run(transaction, 'insert into "stamped" values (1, 1)'));
    const change = statement(
      'update "stamped" set "stamp" = "stamp" + 1 where "key" = 1 and "stamp" = 1',
    );
    const changes = await Promise.all(
      Array.from({ length: 200 }, async () =>
        executor.write(async (transaction) => (await transaction.run(change, [])).changes),
      ),
    );
    expect(changes.filter((each) => each === 1)).toHaveLength(1);
    expect(changes.filter((each) => each === 0)).toHaveLength(199);
    expect(await executor.value(statement('select "stamp" from "stamped"'), [])).toBe(2);
  });

  it('rolls back one of two transactions that wait for each other', async () => {
    await executor.write((transaction) =>
      run(transaction, 'insert into "stamped" values (1, 1), (2, 1)'),
    );
    const raise = (key: number) =>
      statement(`update "stamped" set "stamp" = 2 where "key" = ${key}`);
    let meet = (): void => undefined;
    const met = new Promise<void>((resolve) => (meet = resolve));
    let first = 0;
    const both = [
      [1, 2],
      [2, 1],
    ].map(async ([one = 0, other = 0]) =>
      executor.write(async (transaction) => {
        await transaction.run(raise(one), []);
        first += 1;
        if (first === 2) meet();
        await met;
        await transaction.run(raise(other), []);
      }),
    );
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(refused.reason).toBeInstanceOf(ConflictError);
    expect(await executor.rows(statement('select "stamp" from "stamped"'), [])).toEqual([[2], [2]]);
  });

  it('reads while transactions use all their connections, also from inside them', async () => {
    let begun = 0;
    let go = (): void => undefined;
    const all = new Promise<void>((resolve) => (go = resolve));
    const writes = [1, 2, 3, 4, 5, 6].map(async (key) =>
      executor.write(async (transaction) => {
        await transaction.run(insert, [key]);
        begun += 1;
        if (begun === 3) go();
        await all;
        expect(typeof (await counted())).toBe('number');
      }),
    );
    await all;
    expect(typeof (await counted())).toBe('number');
    await Promise.all(writes);
    expect(await counted()).toBe(6);
  });

  it('answers an error when no connection is left, and works when there is one again', async () => {
    const clients: Client[] = [];
    for (;;) {
      const client = new Client({ connectionString: server.url('postgres') });
      client.on('error', () => undefined);
      try {
        await client.connect();
        clients.push(client);
      } catch {
        break;
      }
    }
    // The connection that was opened at the start is kept.
    const reads = await Promise.allSettled(
      Array.from({ length: 4 }, () => value('select pg_sleep(0.1)')),
    );
    const refused = reads.filter((each) => each.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(DatabaseUnavailableError);
    await Promise.all(clients.map((client) => client.end()));
    const asked = (): Promise<unknown> => counted().catch(() => 'full');
    while ((await asked()) === 'full') await new Promise(setImmediate);
    expect(await counted()).toBe(0);
  });

  it('can be closed while a transaction hangs', async () => {
    const { executor: hanging } = await openConnections(
      { url: server.url('postgres'), size: 2, queryTimeout: null, graceMilliseconds: 50 },
      wanted,
    );
    let begun = (): void => undefined;
    const isBegun = new Promise<void>((resolve) => (begun = resolve));
    const writing = async (): Promise<void> =>
      hanging.write(async (transaction) => {
        await transaction.run(insert, [1]);
        begun();
        await new Promise(() => undefined);
      });
    void writing().catch(() => undefined);
    await isBegun;
    await hanging.close();
    // The row is unlocked again.
    await executor.write((transaction) => transaction.run(insert, [1]));
    expect(await counted()).toBe(1);
  });
});
