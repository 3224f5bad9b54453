import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect } from 'vitest';
import { Client } from 'pg';
import { describeDatabases } from '../support/databases.js';
import { isLong, itLong, itOnOne } from '../support/long.js';
import type { TestDatabase } from '../support/postgres.js';
import { create, serverOf } from '../support/server.js';
import { compiledProgram } from '../support/processes/program.js';
import { type EndedCommand, runHere } from '../support/processes/run-here.js';
import { kill, launch, type Launched } from '../support/processes/server-process.js';

type Written = Readonly<Record<string, string>>;

/** A migration with these steps, and the code before it. */
function migration(steps: string, before = ''): Written {
  return {
    'src/migrations/0001-first.ts': `import type { Migration } from '#runtime/definition';
${before}
export const migration: Migration = { from: '1', to: '2', steps: [${steps}] };
`,
  };
}

const killer = new URL('support/kill-at.mjs', import.meta.url).href;

describeDatabases('A migration', ({ driver, create: createDatabase, run }) => {
  let database: TestDatabase;
  let folder: string;
  const launched: Launched[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    folder = mkdtempSync(join(tmpdir(), 'drs-migrations-'));
  });
  afterEach(async () => {
    for (const each of launched.splice(0)) await kill(each);
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const modelWith = (...attributes: readonly string[]): string => `
drs: 1
name: migrated
database: ${driver}
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      ${attributes.join('\n      ')}
`;

  const serving = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void>,
    written: Written = {},
    environment: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const app = await serverOf(model, { databaseUrl: database.url, environment }, written);
    try {
      await app.ready();
      await use(app);
    } finally {
      await app.close();
    }
  };

  const started = (
    program: string,
    environment: Readonly<Record<string, string>> = {},
  ): Launched => {
    const one = launch(program, {
      folder,
      environment: {
        DATABASE_URL: database.url,
        BESIDE: folder,
        DATABASE_POOL: '3',
        ...environment,
      },
    });
    launched.push(one);
    return one;
  };

  /** Starts `node dist/src/main.js`. */
  const serve = (
    model: string,
    written: Written,
    environment: Readonly<Record<string, string>> = {},
  ): Launched => started(compiledProgram(model, written), environment);

  const migrateProgram = (model: string, written: Written): string =>
    join(dirname(compiledProgram(model, written)), 'migrate.js');

  /** Starts `node dist/src/migrate.js`. */
  const migrate = (
    model: string,
    written: Written,
    environment: Readonly<Record<string, string>> = {},
  ): Launched => started(migrateProgram(model, written), environment);

  /** Runs the same in this process. */
  const migrateHere = (model: string, written: Written): Promise<EndedCommand> => {
    const environment = { DATABASE_URL: database.url };
    return runHere(migrateProgram(model, written), [], { cwd: folder, environment });
  };

  const rows = (list: string): Promise<unknown> =>
    run(database.url, `select ${list} from "Person" order by "ID"`);

  const done = async (): Promise<number> => {
    const text = `select count(*) from "__migration" where "done" is not null`;
    const [row] = await run(database.url, text);
    return Number(row?.[0]);
  };

  const people = async (app: FastifyInstance): Promise<readonly object[]> => {
    const response = await app.inject('/rest/Person?$orderby=ID&$top=10000');
    return response.json<{ __ENTITIES: object[] }>().__ENTITIES;
  };

  const older = modelWith(
    'zip: { type: integer, unique: true }',
    'fax: { type: string, indexed: true }',
    'name: string',
  );
  const newer = modelWith('zip: { type: string, unique: true, maxLength: 9 }', 'name: string');

  const filled = (app: FastifyInstance): Promise<unknown> =>
    create(app, 'Person', [
      { zip: 1, fax: 'a', name: 'Ann' },
      { zip: null, fax: 'b', name: 'Bob' },
      { zip: 3, fax: null, name: 'Cid' },
    ]);

  const before = [
    { ID: 1, zip: 1, fax: 'a', name: 'Ann', __STAMP: 1 },
    { ID: 2, zip: null, fax: 'b', name: 'Bob', __STAMP: 1 },
    { ID: 3, zip: 3, fax: null, name: 'Cid', __STAMP: 1 },
  ];
  const after = [
    { ID: 1, zip: '10001', name: 'Ann', __STAMP: 2 },
    { ID: 2, zip: null, name: 'Bob', __STAMP: 1 },
    { ID: 3, zip: '10003', name: 'Cid', __STAMP: 2 },
  ];

  const convert = (value = 'CAST("zip" + 10000 AS text)'): string =>
    `{ kind: 'convert', table: 'Person', column: 'zip', value: ${JSON.stringify(value)} }`;
  const drop = `{ kind: 'drop', table: 'Person', column: 'fax', atMost: 2 }`;

  /** The older server runs with its attributes; the newer one waits for the command. */
  const expectUntouched = async (written: Written): Promise<void> => {
    await serving(older, async (app) => {
      expect(await people(app)).toMatchObject(before);
    });
    await expect(serving(newer, () => Promise.resolve(), written)).rejects.toThrow(/migrate\.js/);
  };

  const expectConverted = async (written: Written): Promise<void> => {
    await expect(serving(older, () => Promise.resolve())).rejects.toThrow(/zip/);
    await serving(
      newer,
      async (app) => {
        expect(await people(app)).toMatchObject(after);
      },
      written,
    );
  };

  itOnOne({ driver })(
    'converts values once, although it is killed before each statement of convert and drop',
    async () => {
      await serving(older, async (app) => {
        await filled(app);
      });
      const written = migration(`${convert()}, ${drop}`);
      const kills = [0, 0, 0];
      let [steps, at] = [0, 1];
      const stride = isLong ? 1 : 6;
      for (;;) {
        const environment = { NODE_OPTIONS: `--import ${killer}`, KILL_AT: String(at) };
        const ended = await migrate(newer, written, environment).ended;
        if (ended.signal === null) {
          expect(ended).toMatchObject({ code: 0, stderr: '' });
          break;
        }
        const now = await done();
        kills[steps] = (kills[steps] ?? 0) + 1;
        at = now === steps ? at + stride : 1;
        const isNew = now !== steps || at === 7;
        steps = now;
        expect(await rows('"ID", "zip", "name", "__STAMP"')).toEqual(
          (steps === 0 ? before : after).map(({ ID, zip, name, __STAMP }) => [
            ID,
            zip,
            name,
            __STAMP,
          ]),
        );
        if (isNew) await (steps === 0 ? expectUntouched(written) : expectConverted(written));
      }
      // Within the first step, within the second one, and after it.
      expect(kills[0]).toBeGreaterThan(4 / stride);
      expect(kills[1]).toBeGreaterThan(1 / stride);
      expect(await done()).toBe(2);
      await expectConverted(written);
      await expect(rows('"fax"')).rejects.toThrow(/fax/);
    },
  );

  itLong('changes nothing when it is killed in the middle of a conversion', async () => {
    await serving(older, async (app) => {
      await filled(app);
    });
    const isWriting = {
      sqlite: `EXISTS (SELECT 1 FROM pragma_table_info('Person') WHERE name = '__converted_zip')`,
      postgres: `EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = '"Person"'::regclass AND attname = '__converted_zip')`,
    }[driver];
    const endless = {
      sqlite: '(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT sum(i) FROM n)',
      postgres: '(SELECT 1 FROM (SELECT pg_advisory_xact_lock(7)) AS lock)',
    }[driver];
    const value = `CASE WHEN "ID" = 3 AND ${isWriting} THEN CAST(${endless} AS text) ELSE CAST("zip" + 10000 AS text) END`;
    const stuck = driver === 'sqlite' ? await stuckSqlite() : await stuckPostgres();
    const running = migrate(newer, migration(`${convert(value)}, ${drop}`));
    await stuck.reached();
    await kill(running);
    await stuck.ended();
    const written = migration(`${convert()}, ${drop}`);
    await expectUntouched(written);
    expect(await migrateHere(newer, written)).toMatchObject({ code: 0, err: '' });
    await expectConverted(written);
  });

  /** How a test sees that a conversion runs, and that it was undone. */
  interface Stuck {
    readonly reached: () => Promise<void>;
    readonly ended: () => Promise<void>;
  }

  /** A conversion that does not end locks the file. */
  const stuckSqlite = (): Promise<Stuck> =>
    Promise.resolve({
      reached: async () => {
        const isHeld = (): boolean => {
          const file = new Sqlite(database.url.slice('sqlite:'.length), { timeout: 0 });
          try {
            file.exec('BEGIN IMMEDIATE; ROLLBACK');
            return false;
          } catch {
            return true;
          } finally {
            file.close();
          }
        };
        await expect.poll(isHeld).toBe(true);
      },
      ended: () => Promise.resolve(),
    });

  /**
   * It waits for a lock that the test holds, because PostgreSQL continues the statement of a
   * disconnected client.
   */
  const stuckPostgres = async (): Promise<Stuck> => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('select pg_advisory_lock(7)');
    const others = (condition: string): Promise<readonly unknown[]> =>
      run(
        database.url,
        `select pid from pg_stat_activity where datname = current_database() and query like 'UPDATE%' and ${condition}`,
      );
    return {
      reached: async () => {
        await expect.poll(() => others(`wait_event = 'advisory'`)).toHaveLength(1);
      },
      ended: async () => {
        await client.end();
        await expect.poll(() => others('pid <> pg_backend_pid()')).toEqual([]);
      },
    };
  };

  const amounts = modelWith('amount: integer', 'fax: string');
  const amountsAlone = modelWith('amount: integer', 'note: string');
  const count = 1_300;

  const filledAmounts = (app: FastifyInstance): Promise<unknown> =>
    create(
      app,
      'Person',
      Array.from({ length: count }, (_, amount) => ({ amount, fax: 'f' })),
    );

  const expectFilledOnce = async (): Promise<void> => {
    expect(await rows('"amount", "__STAMP"')).toEqual(
      Array.from({ length: count }, (_, amount) => [amount + 10_000, 2]),
    );
  };

  /** Code of a migration that waits in its first row until this many processes have read it. */
  const meeting = (processes: number): string => `
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const list = process.env['BESIDE'] + '/processes';
appendFileSync(list, 'x');
const met = async (): Promise<void> => {
  while (readFileSync(list).length < ${processes}) await setTimeout(5);
};`;

  itOnOne({ driver })(
    'fills each row once when two servers and the command start at the same time',
    async () => {
      await serving(amounts, async (app) => {
        await filledAmounts(app);
      });
      const steps = `{ kind: 'fill', table: 'Person', set: async (row: { amount: number }) => { await met(); return { amount: row.amount + 10000 }; } },
      { kind: 'fill', table: 'Person', set: { note: "'n' || \\"amount\\"" }, where: '"ID" <= 3' },
      { kind: 'drop', table: 'Person', column: 'fax', atMost: ${count} }`;
      const written = migration(steps, meeting(3));
      const servers = [serve(amountsAlone, written), serve(amountsAlone, written)];
      const command = migrate(amountsAlone, written);
      expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
      for (const each of servers) {
        const origin = await each.listening;
        const answer = await fetch(`${origin}/rest/Person?$orderby=ID&$top=1`);
        expect(await answer.json()).toMatchObject({
          __COUNT: count,
          __ENTITIES: [{ amount: 10_000, note: 'n10000', __STAMP: 3 }],
        });
      }
      const raised = Array.from({ length: count }, (_, at) => [at + 10_000, at < 3 ? 3 : 2]);
      expect(await rows('"amount", "__STAMP"')).toEqual(raised);
      await expect(rows('"fax"')).rejects.toThrow(/fax/);
      expect(await done()).toBe(3);
    },
  );

  itLong('waits for another one that fills rows, however long that takes', async () => {
    await serving(amounts, async (app) => {
      await filledAmounts(app);
    });
    const pause = `
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const go = process.env['BESIDE'] + '/go';
const paused = async (row: { ID: number }): Promise<void> => {
  if (row.ID !== 600 || existsSync(go)) return;
  console.log('in the middle');
  while (!existsSync(go)) await setTimeout(5);
};`;
    const steps = `{ kind: 'fill', table: 'Person', set: async (row: { ID: number; amount: number }) => { await paused(row); return { amount: row.amount + 10000 }; } }`;
    const written = migration(steps, pause);
    const first = migrate(amounts, written);
    await expect.poll(() => first.stdout()).toContain('in the middle');
    const second = serve(amounts, written, { LOG_LEVEL: 'info' });
    // With SQLite the whole process waits.
    if (driver === 'postgres') {
      await expect
        .poll(() => second.stderr())
        .toContain('Another server changes the database: this one waits until it has ended.');
    }
    writeFileSync(join(folder, 'go'), '');
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' });
    await second.listening;
    await expectFilledOnce();
  });

  /** A port that nobody listens at. */
  const freePort = (): Promise<number> =>
    new Promise((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        server.close(() => {
          resolve(port);
        });
      });
    });

  itOnOne({ driver })(
    'keeps a server with MIGRATE=check from listening until the command has applied it',
    async () => {
      await serving(older, async (app) => {
        await filled(app);
      });
      const written = migration(`${convert()}, ${drop}`);
      const port = await freePort();
      const environment = { MIGRATE: 'check', PORT: String(port), LOG_LEVEL: 'info' };
      const waiting = serve(newer, written, environment);
      await expect
        .poll(() => waiting.stderr())
        .toContain('Waits for another server to run: 0001-first: convert');
      const health = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/health`);
      await expect(health()).rejects.toThrow();
      // It changes nothing, and blocks nobody.
      await serving(older, async (app) => {
        expect(await people(app)).toMatchObject(before);
      });
      expect(await migrateHere(newer, written)).toMatchObject({ code: 0, err: '' });
      const origin = await waiting.listening;
      expect((await health()).status).toBe(200);
      const answer = await fetch(`${origin}/rest/Person?$orderby=ID`);
      expect(await answer.json()).toMatchObject({ __ENTITIES: after });
    },
  );

  itOnOne({ driver })(
    'keeps a server with MIGRATE=check waiting until one with MIGRATE=auto has filled',
    async () => {
      await serving(amounts, async (app) => {
        await filledAmounts(app);
      });
      const steps = `{ kind: 'fill', table: 'Person', set: { note: "'n' || \\"amount\\"" } }`;
      const written = migration(steps);
      const mandatory = modelWith('amount: integer', 'note: { type: string, mandatory: true }');
      const waiting = serve(mandatory, written, { MIGRATE: 'check', LOG_LEVEL: 'info' });
      await expect.poll(() => waiting.stderr()).toContain('0001-first: fill');
      expect(await done()).toBe(0);
      const other = serve(mandatory, written);
      for (const each of [await waiting.listening, await other.listening]) {
        const answer = await fetch(`${each}/rest/Person?$filter="note = 'N7'"`);
        expect(await answer.json()).toMatchObject({ __COUNT: 1 });
      }
    },
  );

  itOnOne({ driver })(
    'keeps a server with MIGRATE=off from starting until it is applied',
    async () => {
      await serving(older, async (app) => {
        await filled(app);
      });
      const written = migration(`${convert()}, ${drop}`);
      const off = { MIGRATE: 'off' };
      await expect(serving(newer, () => Promise.resolve(), written, off)).rejects.toThrow(
        /MIGRATE is off, and these steps .*0001-first: convert.*migrate\.js/,
      );
      await expectUntouched(written);
      expect(await migrateHere(newer, written)).toMatchObject({ code: 0, err: '' });
      await serving(
        newer,
        async (app) => {
          expect(await people(app)).toMatchObject(after);
        },
        written,
        off,
      );
    },
  );
});
