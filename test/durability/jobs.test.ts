import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import { describeDatabases } from '../support/databases.js';
import { itLong } from '../support/long.js';
import { modelOf } from '../support/server.js';
import type { TestDatabase } from '../support/postgres.js';
import { Client, ServerGone } from '../support/processes/client.js';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';
import { kill, type ServerProcess } from '../support/processes/server-process.js';
import { Random } from '../support/random-model/random.js';

/** `JOB_KILLS=500` looks further. */
const kills = Number(process.env['JOB_KILLS'] ?? 200);

const model = `
drs: 1
name: kills
dataclasses:
  Asked:
    attributes:
      ID: { type: integer, key: true }
  Ran:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      number: integer
datastore:
  functions:
    ask: { exposed: true, params: { number: integer }, returns: void }
    hold: { exposed: true, params: { heeds: boolean }, returns: void }
jobs:
  work: { params: { number: integer }, retries: 1000 }
  wait: { params: { heeds: boolean } }
`;

/** Each third transaction is rolled back after it has stored its job. */
const files = {
  'src/classes/DataStore.ts': `
    import { DataStoreBase } from '../generated/api.js';
    export class DataStore extends DataStoreBase {
      async ask(number: number): Promise<void> {
        await this.transaction(async () => {
          await this.Asked.new({ ID: number }).save();
          await this.enqueue('work', { number });
          if (number % 3 === 0) throw new Error('rolled back');
        }).catch((error) => {
          if (number % 3 !== 0) throw error;
        });
      }
      async hold(heeds: boolean): Promise<void> {
        await this.enqueue('wait', { heeds });
      }
    }
  `,
  'src/jobs/wait.ts': `
    import { setTimeout } from 'node:timers/promises';
    import type { Job } from '../generated/jobs.js';
    export const run: Job<'wait'> = async ({ heeds }, { ds, signal }) => {
      await ds.Ran.new({ number: 1 }).save();
      await setTimeout(600_000, undefined, heeds ? { signal } : {});
    };
  `,
  'src/jobs/work.ts': `
    import { setTimeout } from 'node:timers/promises';
    import type { Job } from '../generated/jobs.js';
    export const run: Job<'work'> = async ({ number }, { ds }) => {
      await setTimeout(number % 7);
      await ds.Ran.new({ number }).save();
    };
  `,
};

describeDatabases('A server with jobs', ({ driver, create, run }) => {
  let database: TestDatabase;
  let scratch: Scratch;

  beforeEach(async () => {
    database = await create();
    scratch = new Scratch(compiledProgram({ ...modelOf(model), databases: [driver] }, files));
  });

  afterEach(async () => {
    await scratch.remove();
    await database.drop();
  });

  const start = (): Promise<ServerProcess> =>
    scratch.start({ environment: { DATABASE_URL: database.url, LOG_LEVEL: 'fatal' } });
  const numbers = async (sql: string): Promise<readonly number[]> =>
    (await run(database.url, sql)).map(([number]) => Number(number));

  itLong.each([
    ['heeds its signal', true, 'null,0'],
    ['does not, after ten seconds', false, 'held,1'],
  ])('SIGTERM ends a server with a job that %s', async (_what, heeds, left) => {
    const server = await start();
    await new Client(server.origin).post('/rest/$catalog/hold', [heeds]);
    await expect.poll(() => numbers('select "number" from "Ran"')).toEqual([1]);
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    const columns = `case when "holder" is null then 'null' else 'held' end, "attempts"`;
    const rows = await run(database.url, `select ${columns} from "__job"`);
    expect(rows.map(String)).toEqual([left]);
  });

  itLong(
    `loses no committed job in ${String(kills)} kills, and runs none of a rolled-back transaction`,
    async () => {
      const random = new Random(kills);
      let next = 1;
      let answered = 0;
      for (let round = 0; round < kills; round += 1) {
        const server = await start();
        const ask = async (): Promise<void> => {
          const client = new Client(server.origin);
          for (;;) {
            const number = next;
            next += 1;
            await client.post('/rest/$catalog/ask', [number]);
            answered += 1;
          }
        };
        const asking = [1, 2, 3].map(() => expect(ask()).rejects.toThrow(ServerGone));
        // The first requests of a server are slow.
        const wanted = answered + random.int(0, 60);
        const latest = performance.now() + 5_000;
        while (answered < wanted && performance.now() < latest) await setTimeout(2);
        await setTimeout(random.int(0, 10));
        await kill(server);
        await Promise.all(asking);
      }
      await start();
      // Jobs that were running when a server was killed wait for the end of their leases.
      await expect
        .poll(() => numbers('select count(*) from "__job"'), { timeout: 300_000 })
        .toEqual([0]);
      const asked = await numbers('select "ID" from "Asked" order by "ID"');
      const ran = new Set(await numbers('select "number" from "Ran"'));
      expect(asked.filter((number) => !ran.has(number))).toEqual([]);
      const stored = new Set(asked);
      expect([...ran].filter((number) => !stored.has(number))).toEqual([]);
      expect(asked.length).toBeGreaterThan(kills);
      expect(next - asked.length).toBeGreaterThan(kills / 3);
      console.info(`${String(kills)} kills, ${String(asked.length)} jobs`);
    },
  );
});
