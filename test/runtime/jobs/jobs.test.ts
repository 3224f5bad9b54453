import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import { Gate } from '../../support/gate.js';
import {
  type JobsDatastore,
  jobsModel,
  type JobsServer,
  jobsServer,
  setJobCode,
  type TestCode,
  type TestJob,
} from '../../support/jobs-server.js';
import type { TestDatabase } from '../../support/postgres.js';
import { itOnOne } from '../../support/long.js';

describeDatabases('Jobs', (databases) => {
  const { create, run } = databases;
  let database: TestDatabase;
  let servers: JobsServer[];
  let ran: unknown[];
  let ds: JobsDatastore;

  const serve = async (
    environment: Readonly<Record<string, string>> = {},
    yaml?: string,
  ): Promise<JobsServer> => {
    const server = await jobsServer(database.url, { DATABASE_POOL: '3', ...environment }, yaml);
    servers.push(server);
    return server;
  };
  const codes = (mail: TestCode, last: TestCode = mail): void => {
    setJobCode({ mail, last });
  };
  const jobs = (columns: string): Promise<readonly (readonly unknown[])[]> =>
    run(database.url, `select ${columns} from "__job" order by "id"`);
  const makeDue = (): Promise<unknown> =>
    run(database.url, 'update "__job" set "due" = 0 where "due" is not null');
  /** Waits until the table holds what is expected. */
  const becomes = async (columns: string, rows: readonly unknown[]): Promise<void> => {
    await expect.poll(() => jobs(columns)).toEqual(rows);
  };

  beforeEach(async () => {
    database = await create();
    servers = [];
    ran = [];
    codes(({ to }) => ran.push(to));
  });

  afterEach(async () => {
    for (const { app } of servers) await app.close();
    setJobCode();
    await database.drop();
  });

  it('run after the commit of their transaction, and never if it, or their part of it, is rolled back', async () => {
    ({ ds } = await serve());
    const committed = ds.transaction(async () => {
      await ds.enqueue('mail', { to: 'first' });
      await ds
        .transaction(async () => {
          await ds.enqueue('mail', { to: 'of a part' });
          throw new Error('part');
        })
        .catch(() => undefined);
      await setTimeout(20);
      expect(ran).toEqual([]);
    });
    const undone = ds.transaction(async () => {
      await ds.enqueue('mail', { to: 'undone' });
      throw new Error('whole');
    });
    const isUndone = expect(undone).rejects.toThrow('whole');
    await committed;
    await isUndone;
    await ds.enqueue('mail', { to: 'alone' });
    await becomes('"id"', []);
    // Two jobs that are due run beside each other.
    expect(ran.toSorted()).toEqual(['alone', 'first']);
  });

  itOnOne(databases)(
    'get their parameters with the types of the model, and run as the server',
    async () => {
      ({ ds } = await serve());
      let got: unknown;
      codes(async (params, { ds: own, id, attempt, signal }: TestJob) => {
        got = { params, id, attempt, isAborted: signal.aborted };
        await own.Note.new({ text: 'sent' }).save();
      });
      const on = new Date('2026-03-09T14:25:36Z');
      const id = await ds.enqueue('mail', { to: 'mia', on, tags: ['a', 'b'] });
      await becomes('"id"', []);
      const params = { to: 'mia', on, tags: ['a', 'b'] };
      expect(got).toEqual({ params, id, attempt: 1, isAborted: false });
      expect(await ds.Note.all().count()).toBe(1);
    },
  );

  itOnOne(databases)('may be stored by routes of the user, with request.ds', async () => {
    const { app } = await serve();
    expect((await app.inject('/mail/mia')).json()).toEqual({ id: 1 });
    await expect.poll(() => ran).toEqual(['mia']);
  });

  it.each([
    ['mial', {}, 'The model has no job mial. Did you mean mail?'],
    ['mail', {}, 'The parameter "to" of the job mail must not be null.'],
    ['mail', { to: 7 }, 'The parameter "to" of the job mail must be a text.'],
    ['mail', { to: 'mia', tag: [] }, 'The job mail has no parameter tag. Did you mean tags?'],
    ['mail', ['mia'], 'The parameters of the job mail must be an object.'],
  ])(
    'ds.enqueue: refuses what the model does not declare: %s %j',
    async (name, params, message) => {
      ({ ds } = await serve());
      await expect(ds.enqueue(name, params)).rejects.toThrow(new TypeError(message));
      expect(await jobs('"id"')).toEqual([]);
    },
  );

  itOnOne(databases)('ds.enqueue: takes a time before which the job does not run', async () => {
    ({ ds } = await serve());
    const at = new Date(Date.now() + 3_600_000);
    await ds.enqueue('mail', { to: 'at' }, { at });
    await ds.enqueue('mail', { to: 'after' }, { after: 7_200 });
    await ds.enqueue('mail', { to: 'soon' }, { after: 0.05 });
    await expect.poll(() => ran).toEqual(['soon']);
    const dues = (await jobs('"due"')).map(([due]) => Number(due));
    expect(dues[0]).toBe(at.getTime());
    expect(Math.abs((dues[1] ?? 0) - Date.now() - 7_200_000)).toBeLessThan(600_000);
    await expect(ds.enqueue('last', {}, { after: -1 })).rejects.toThrow('at least 0');
    await expect(ds.enqueue('last', {}, { at, after: 1 })).rejects.toThrow('not both');
  });

  itOnOne(databases)(
    'that fail run again later, and are kept as dead ones with their last error',
    async () => {
      ({ ds } = await serve());
      const attempts: number[] = [];
      codes((_params, { attempt }) => {
        attempts.push(attempt);
        throw new Error(`no mail\0 ${String(attempt)}`, { cause: new Error('no server') });
      });
      await ds.enqueue('mail', { to: 'mia' });
      await becomes('"attempts", "holder"', [[1, null]]);
      const [[due] = []] = await jobs('"due"');
      expect(Number(due)).toBeGreaterThan(Date.now() - 600_000);
      await makeDue();
      await becomes('"attempts", "holder"', [[2, null]]);
      await makeDue();
      const error = 'Error: no mail 3: Error: no server';
      await becomes('"attempts", "holder", "due", "error"', [[3, null, null, error]]);
      expect(attempts).toEqual([1, 2, 3]);
    },
  );

  it('that the model no longer has wait, and those that do not fit fail with a message', async () => {
    ({ ds } = await serve({ JOBS: '0' }));
    await ds.enqueue('mail', { to: 'mia' });
    await ds.enqueue('last', {});
    const newer = jobsModel
      .replace('mail:', 'post:')
      .replace('last: { retries: 0 }', 'last: { retries: 0, params: { number: integer } }');
    await serve({}, newer);
    const error = 'TypeError: The parameter "number" of the job last must not be null.';
    await expect
      .poll(async () => (await jobs('"name", "due" is null, "error"')).map(String))
      .toEqual([
        expect.stringMatching(/^mail,(?:0|false),$/),
        expect.stringMatching(/^last,(?:1|true),/),
      ]);
    expect((await jobs('"error"'))[1]?.[0]).toContain(error);
  });

  itOnOne(databases)(
    'are added to a database without them, and stay in it when the model has none any more',
    async () => {
      const without = jobsModel.replace(/^jobs:[^]*/m, '');
      const { app: older } = await serve({}, without);
      expect(Reflect.get(Reflect.get(older, 'datastore') as object, 'enqueue')).toBeUndefined();
      await older.close();
      const { app: newer, ds: own } = await serve({ JOBS: '0' });
      await own.enqueue('mail', { to: 'mia' });
      await newer.close();
      await (await serve({}, without)).app.close();
      await serve();
      await expect.poll(() => ran).toEqual(['mia']);
    },
  );

  itOnOne(databases)('JOBS=0: leaves jobs to other processes', async () => {
    ({ ds } = await serve({ JOBS: '0' }));
    await ds.enqueue('mail', { to: 'mia' });
    await setTimeout(1_200);
    expect(ran).toEqual([]);
    await serve();
    await expect.poll(() => ran).toEqual(['mia']);
  });

  itOnOne(databases)('JOBS: limits how many run at a time', async () => {
    ({ ds } = await serve({ JOBS: '2' }));
    let [running, most] = [0, 0];
    codes(async () => {
      running += 1;
      most = Math.max(most, running);
      await setTimeout(5);
      running -= 1;
    });
    for (let count = 0; count < 12; count += 1) await ds.enqueue('last', {});
    await becomes('"id"', []);
    expect(most).toBe(2);
  });

  it('run once each on two servers', async () => {
    const [first, second] = [await serve(), await serve()];
    const all = Array.from({ length: 150 }, (_, index) => String(index));
    for (const [index, to] of all.entries()) {
      await (index % 2 === 0 ? first : second).ds.enqueue('mail', { to });
    }
    await becomes('"id"', []);
    expect(ran.map(Number).sort((a, b) => a - b)).toEqual(all.map(Number));
  });

  itOnOne(databases)('of a server whose lease has expired run on another one', async () => {
    const { ds: lost } = await serve();
    const gate = new Gate();
    codes(async (_params, { attempt }) => {
      ran.push(attempt);
      if (attempt === 1) await gate.pass();
    });
    await lost.enqueue('mail', { to: 'mia' });
    await expect.poll(() => ran).toEqual([1]);
    await serve();
    await makeDue();
    await expect.poll(() => ran).toEqual([1, 2]);
    await becomes('"id"', []);
    gate.open();
  });

  itOnOne(databases)('that killed their servers too often are dead', async () => {
    await serve({ JOBS: '0' });
    await run(
      database.url,
      `insert into "__job" ("name", "params", "due", "holder", "attempts") values ('last', '{}', 0, 'a server', 1)`,
    );
    await serve();
    await becomes('"error"', [
      ['The server ended, or lost its database, before the end of the job was stored.'],
    ]);
    expect(ran).toEqual([]);
  });

  it('get an aborted signal when their server stops, which waits for them, and run again elsewhere', async () => {
    const stopping = await serve();
    codes(async (_params, { attempt, signal }) => {
      ran.push(attempt);
      await setTimeout(600_000, undefined, { signal, ref: false });
    });
    await stopping.ds.enqueue('mail', { to: 'mia' });
    await expect.poll(() => ran).toEqual([1]);
    await stopping.app.close();
    expect(await jobs('"holder", "attempts", "error"')).toEqual([[null, 0, null]]);
    codes((_params, { attempt }) => ran.push(attempt));
    await serve();
    await expect.poll(() => ran).toEqual([1, 1]);
  });
});
