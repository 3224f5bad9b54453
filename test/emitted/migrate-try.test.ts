import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCatalog } from '../../runtime/dialect/postgres/catalog.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { type EndedCommand, runHere } from '../support/processes/run-here.js';
import { create, modelOf, serverOf, writeServer } from '../support/server.js';
import { itOnOne } from '../support/long.js';

type Written = Readonly<Record<string, string>>;

const nothing: EndedCommand = { code: 0, out: '', err: '' };
const first = 'src/migrations/0001-first.ts';

describeDatabases('migrate.js --try', (databases) => {
  const isSqlite = databases.driver === 'sqlite';
  let database: TestDatabase;
  let folder: string;

  beforeEach(async () => {
    database = await databases.create();
    folder = mkdtempSync(join(tmpdir(), 'drs-try-'));
  });
  afterEach(async () => {
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  /** The argument of `--try`, and the URL of the copy. */
  const copyOf = (name: string): { readonly target: string; readonly url: string } => {
    const target = isSqlite ? join(folder, name) : name;
    if (isSqlite) return { target, url: `sqlite:${target}` };
    const url = new URL(database.url);
    url.searchParams.set('options', `-c search_path=${name}`);
    return { target, url: url.href };
  };

  const modelWith = (attributes: string, others = ''): string => `
drs: 1
name: tried
database: ${databases.driver}
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      company: { to: Company, inverse: staff }
${attributes}
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      staff: { to: Person, many: true, inverse: company }
${others}`;

  const older = modelWith(`      name: { type: string, indexed: true, maxLength: 90 }
      role: { type: string, enum: [a, b] }
      zip: integer
      fax: string
      loud: { computed: string, expression: "upper(substr(name, 1, 3))" }`);
  const newer = modelWith(`      name: { type: string, indexed: true, maxLength: 120 }
      role: { type: string, enum: [a, b, c] }
      zip: { type: string, indexed: true }
      lastName: { type: string, mandatory: true }
      loud: { computed: string, expression: "lower(substr(name, 1, 3))" }`);
  const steps = `{ kind: 'fill', table: 'Person', set: (row: { name: string }) => ({ lastName: row.name.split(' ')[1] ?? '' }) },
    { kind: 'convert', table: 'Person', column: 'zip', value: { sqlite: 'CAST("zip" AS TEXT)', postgres: 'CAST("zip" AS text)' } },
    { kind: 'drop', table: 'Person', column: 'fax', atMost: 9 }`;
  const migration = (text: string): Written => ({
    [first]: `import type { Migration } from '#runtime/definition';
export const migration: Migration = { from: '1', to: '2', steps: [${text}] };
`,
  });
  const written = migration(steps);

  const serving = async (
    model: string,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
    files: Written = {},
    databaseUrl = database.url,
  ): Promise<void> => {
    const app = await serverOf(model, { databaseUrl }, files);
    try {
      await app.ready();
      await use(app);
    } finally {
      await app.close();
    }
  };

  const fill = async (app: FastifyInstance): Promise<void> => {
    await create(app, 'Company', [{ name: 'One' }, { name: 'Two' }]);
    const people = Array.from({ length: 1203 }, (_, index) => ({
      company: (index % 2) + 1,
      name: `Ann Élan${index}`,
      role: 'b',
      zip: index,
      fax: index < 7 ? `${index}` : null,
    }));
    await create(app, 'Person', people);
  };

  const program = (model: string, files: Written): string =>
    join(compiledServer(writeServer(modelOf(model), files)), 'dist/src/migrate.js');

  /** Runs the command in this process. */
  const migrate = (
    model: string,
    files: Written,
    args: readonly string[],
    url = database.url,
  ): Promise<EndedCommand> =>
    runHere(program(model, files), args, { cwd: folder, environment: { DATABASE_URL: url } });

  /** Runs the command in a process of its own. */
  const migrateApart = (
    model: string,
    files: Written,
    args: readonly string[],
  ): Promise<EndedCommand> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [program(model, files), ...args], {
        env: { ...process.env, DATABASE_URL: database.url },
        cwd: folder,
      });
      let [out, err] = ['', ''];
      child.stdout.on('data', (data: Buffer) => (out += data.toString()));
      child.stderr.on('data', (data: Buffer) => (err += data.toString()));
      child.on('close', (code) => {
        resolve({ code, out, err });
      });
    });

  const inPostgres = async <T>(use: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  };

  const runSql = async (sql: string): Promise<void> => {
    if (!isSqlite) {
      await inPostgres((client) => client.query(sql));
      return;
    }
    const file = new Sqlite(database.url.slice('sqlite:'.length));
    file.exec(sql);
    file.close();
  };

  /** Every row of the database, every sequence, and the catalog. */
  const all = (): Promise<unknown> =>
    isSqlite
      ? Promise.resolve(readFileSync(database.url.slice('sqlite:'.length)).toString('base64'))
      : inPostgres(async (client) => {
          const read = async (sql: string): Promise<readonly unknown[]> =>
            (await client.query<Record<string, unknown>>(sql)).rows;
          const inPublic = `relnamespace = 'public'::regnamespace`;
          const { rows } = await client.query<{ name: string }>(
            `select oid::regclass::text as "name" from pg_class where ${inPublic} and relkind in ('r', 'S') order by 1`,
          );
          const contents: unknown[] = [];
          for (const { name } of rows) {
            contents.push([name, await read(`select x.*, x.xmin::text from ${name} x order by 1`)]);
          }
          return [
            contents,
            await read(
              `select oid, relname, relkind, relfilenode, relnatts, relchecks, relhastriggers, relowner, relacl::text from pg_class where ${inPublic} order by oid`,
            ),
            await read(
              `select a.*, a.xmin::text from pg_attribute a join pg_class c on c.oid = attrelid where ${inPublic} order by attrelid, attnum`,
            ),
            await read(
              `select oid, xmin::text, conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace order by oid`,
            ),
            await read(
              `select oid, xmin::text, proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by oid`,
            ),
            await read(
              `select t.oid, t.xmin::text, tgname from pg_trigger t join pg_class c on c.oid = tgrelid where ${inPublic} order by t.oid`,
            ),
          ];
        });

  const copies = async (): Promise<readonly string[]> =>
    isSqlite
      ? readdirSync(folder)
      : inPostgres(async (client) => {
          const { rows } = await client.query<{ name: string }>(
            // The state of servers on the original is no part of a copy.
            `select nspname as "name" from pg_namespace where nspname !~ '^(pg_|information_schema|public$|drs_state$)' order by 1`,
          );
          return rows.map(({ name }) => name);
        });

  it('applies all steps to a copy, reports rows, times and locks, and does not change the database', async () => {
    await serving(older, fill);
    // A server of another model runs, which does not prevent a trial on a copy.
    const seen = new Date(Date.now() + 3_600_000).toISOString();
    await runSql(`insert into "__server" ("id", "hash", "seen") values ('x', 'y', '${seen}')`);
    const before = await all();
    const { target, url } = copyOf('trial');
    const tried = await migrate(newer, written, ['--try', target]);
    expect([tried.err, tried.code]).toEqual(['', 0]);
    expect(await all()).toEqual(before);
    expect(await copies()).toEqual(['trial']);
    if (isSqlite) {
      expect(readdirSync(dirname(database.url.slice('sqlite:'.length)))).toEqual(['data.sqlite']);
    }

    const time = String.raw`\d+\.\d+ s`;
    const lock = isSqlite ? 'the whole database' : 'ACCESS EXCLUSIVE on "Person"';
    const line = (text: string): RegExp => new RegExp(`^${text}$`, 'm');
    const waits = `writers wait for ${lock}`;
    expect(tried.out).toMatch(
      line(
        isSqlite
          ? String.raw`Migration 0001-first: fill "Person": 1203 rows, ${time}; ${waits} \(4 times, ${time} at most\)`
          : String.raw`Migration 0001-first: fill "Person": 1203 rows, ${time}; ${waits} \(${time}\)`,
      ),
    );
    expect(tried.out).toMatch(
      line(
        String.raw`Migration 0001-first: convert "Person"\."zip": 1203 rows, ${time}; ${waits} \(${time}\)`,
      ),
    );
    expect(tried.out).toMatch(
      line(
        String.raw`Migration 0001-first: drop "Person"\."fax": 7 rows, ${time}; ${waits} \(${time}\)`,
      ),
    );
    const changes = isSqlite
      ? [
          String.raw`  - table "Person" is (altered|rebuilt): 1203 rows, ${time}`,
          String.raw`  - index "__Person\.zip" is made: 1203 rows, ${time}`,
          String.raw`The changes of the schema, in one transaction: ${time}; ${waits} \(${time}\)`,
        ]
      : [
          String.raw`ALTER TABLE "Person" ADD COLUMN "__folded_zip" .*: 1203 rows, ${time}; ${waits} \(${time}\)`,
          String.raw`fill "Person"\."__folded_zip": 1203 rows, ${time}; no table is locked`,
          String.raw`CREATE INDEX CONCURRENTLY .*: 1203 rows, ${time}; no table is locked`,
          String.raw`ALTER TABLE "Person" VALIDATE CONSTRAINT .*: 1203 rows, ${time}; no table is locked`,
        ];
    for (const each of changes) expect(tried.out).toMatch(line(each));
    expect(tried.out).toMatch(
      line(
        String.raw`In all: ${time}; writers wait longest for (the whole database|ACCESS EXCLUSIVE on .*): ${time} \(.*\)\.`,
      ),
    );
    expect(tried.out).toMatch(
      isSqlite
        ? /^The copy stays: DATABASE_URL=sqlite:.*trial starts a server on it\.\nDelete the file when you no longer need it, and those beside it/m
        : /^The copy stays: \?options=-c%20search_path%3Dtrial in DATABASE_URL .*\nWhen you no longer need it: DROP SCHEMA IF EXISTS "trial", "drs_state_trial" CASCADE;\n$/m,
    );

    // The newer server runs on the copy, and the older one on the database.
    await serving(
      newer,
      async (app) => {
        const found = await app.inject('/rest/Person(1203)');
        expect(found.json()).toMatchObject({ lastName: 'Élan1202', zip: '1202', loud: 'ann' });
        expect(await create(app, 'Person', [{ name: 'x', lastName: 'y' }])).toMatchObject([
          { ID: 1204 },
        ]);
      },
      written,
      url,
    );
    await serving(older, async (app) => {
      const found = await app.inject('/rest/Person(1203)');
      expect(found.json()).toMatchObject({ zip: 1202, loud: 'ANN' });
    });
    await runSql(`delete from "__server"`);
    expect(await migrate(newer, written, [])).toMatchObject({ code: 0, err: '' });
  });

  itOnOne(databases)(
    'copies an up-to-date database so that the copy needs no change, even while a server writes to it',
    async () => {
      const text = (word: string): string =>
        modelWith(`      note: { type: string${word} }
      third: { computed: number, expression: "round(length(note) / 3.0, 1)" }`);
      // Without the index, the folded column and its trigger stay.
      await serving(text(', indexed: true'), async (app) => {
        await create(app, 'Company', [{ name: 'One' }]);
        await create(app, 'Person', [{ note: 'Ä', company: 1 }, { note: null }]);
      });
      const later = text('');
      await serving(later, async (app) => {
        const { target, url } = copyOf('same');
        const writing = Promise.all(
          Array.from({ length: 20 }, (_, index) => create(app, 'Person', [{ note: `${index}` }])),
        );
        const tried = await migrateApart(later, {}, ['--try', target]);
        await writing;
        expect(tried).toMatchObject({ code: 0, err: '' });
        expect(tried.out).not.toMatch(/In the database|ALTER|CREATE|index|changes of the schema/);
        expect(tried.out).toMatch(/^In all: .*; no table is locked\.$/m);
        await serving(
          later,
          async (copy) => {
            const found = await copy.inject(`/rest/Person?$filter="note = 'ä'"`);
            expect(found.json()).toMatchObject({ __COUNT: 1 });
          },
          {},
          url,
        );
      });
      const again = await migrate(later, {}, ['--try', copyOf('again').target], copyOf('same').url);
      expect(again).toMatchObject({ code: 0, err: '' });
      expect(await copies()).toEqual(expect.arrayContaining(['again', 'same']));
      if (isSqlite) return;
      await inPostgres(async (client) => {
        const known = async (name: string): Promise<unknown> => {
          await client.query(`set search_path = "${name}"`);
          const { tables, functions } = await readCatalog(client, name);
          return { tables: tables.map((table) => ({ ...table, oid: '' })), functions };
        };
        expect(await known('same')).toEqual(await known('public'));
        expect(await known('again')).toEqual(await known('public'));
      });
    },
  );

  it('reports what it does not copy because no server created it', async () => {
    await serving(older, fill);
    await runSql(
      isSqlite
        ? `create view "seen" as select "name" from "Person"`
        : `create view "seen" as select "name" from "Person";
          create table "theirs" ("at" text);
          create function note() returns trigger language plpgsql as 'begin insert into public.theirs values (1); return new; end';
          create trigger "noted" after update on "Person" for each row execute function note();
          create index "own" on "Company" (lower("name")) where "ID" > 1`,
    );
    const { target } = copyOf('partly');
    const { code, out } = await migrate(newer, written, ['--try', target]);
    expect(code).toBe(0);
    if (isSqlite) return;
    expect(out).toContain(
      'Not copied, because no server created it: table theirs, view seen, trigger "noted" on "Person".',
    );
    await inPostgres(async (client) => {
      // A trigger that no server created has no effect on a copy.
      expect((await client.query('select from public.theirs')).rowCount).toBe(0);
      const { rows } = await client.query<{ text: string }>(
        `select indexdef as "text" from pg_indexes where schemaname = 'partly' and indexname = 'own'`,
      );
      expect(rows).toHaveLength(1);
    });
  });

  itOnOne(databases)(
    'reports why a migration would stop, and keeps the copy for inspection',
    async () => {
      await serving(older, fill);
      const before = await all();
      const { target } = copyOf('stopped');
      const strict = migration(steps.replace('atMost: 9', 'atMost: 1'));
      const tried = await migrateApart(newer, strict, ['--try', target]);
      expect(tried.code).toBe(1);
      expect(tried.err).toMatch(/stopped at step 3 .*7 values would be lost, and atMost allows 1/);
      expect(tried.out).toMatch(/fill "Person": 1203 rows/);
      expect(tried.out).toMatch(/The copy stays/);
      expect(await all()).toEqual(before);
      expect(await copies()).toHaveLength(1);
    },
  );

  itOnOne(databases)(
    'refuses a copy that exists already or cannot be created, and changes nothing',
    async () => {
      await serving(older, fill);
      const { target } = copyOf('taken');
      if (isSqlite) writeFileSync(target, 'somebody else wrote this');
      else await runSql(`create schema "taken"; create table "taken"."Person" ("ID" bigint)`);
      const before = await all();
      const refused = async (copy: string, message: RegExp): Promise<void> => {
        const tried = await migrate(newer, written, ['--try', copy]);
        expect(tried.err).toMatch(message);
        expect([tried.code, tried.out]).toEqual([1, '']);
      };
      await refused(target, /taken"? exists already/);
      if (isSqlite) {
        expect(readFileSync(target, 'utf8')).toBe('somebody else wrote this');
        writeFileSync(join(folder, 'left-wal'), 'x');
        await refused(join(folder, 'left'), /left-wal exists already/);
        writeFileSync(join(folder, 'kept-state'), 'x');
        await refused(join(folder, 'kept'), /kept-state exists already/);
        rmSync(join(folder, 'kept-state'));
        await refused(join(folder, 'none', 'copy'), /cannot make the file .*ENOENT/);
        await refused(database.url.slice('sqlite:'.length), /exists already/);
        await refused(database.url, /takes the path of a new file/);
        await refused('', /takes the path of a new file/);
      } else {
        for (const name of ['', 'Upper', 'x"; drop schema public; --']) {
          await refused(name, /takes the name of a new schema/);
        }
        await refused('public', /"public" exists already/);
        await runSql('create schema "drs_state_left"');
        await refused('left', /"drs_state_left" exists already/);
        await runSql('drop schema "drs_state_left"');
        await inPostgres(async (client) => {
          expect((await client.query('select from "taken"."Person"')).rowCount).toBe(0);
        });
      }
      expect(await copies()).toEqual(isSqlite ? ['left-wal', 'taken'] : ['taken']);
      expect(await all()).toEqual(before);
    },
  );

  itOnOne(databases)('needs an existing database', async () => {
    const { target } = copyOf('nowhere');
    const url = isSqlite ? `sqlite:${join(folder, 'absent')}` : `${database.url}_absent`;
    const tried = await migrate(newer, written, ['--try', target], url);
    expect(tried).toMatchObject({ code: 1, out: '' });
    expect(tried.err).toMatch(isSqlite ? /There is no database .*absent/ : /does not exist/);
    expect(existsSync(join(folder, 'absent'))).toBe(false);
    if (!isSqlite) return;
    const inMemory = await migrate(newer, written, ['--try', target], 'sqlite::memory:');
    expect(inMemory).toMatchObject({ code: 1, out: '' });
    expect(inMemory.err).toMatch(/in memory/);
    expect(await copies()).toEqual([]);
  });

  itOnOne(databases)(
    'is explained by --help, and a wrong command line ends with 2 before anything is done',
    async () => {
      const help = await migrate(newer, written, ['--help']);
      expect(help).toMatchObject({ code: 0, err: '' });
      expect(help.out).toMatch(/^Usage: node dist\/src\/migrate\.js \[--plan \| --try <copy>\]/);
      expect(await migrate(newer, written, ['-h'])).toEqual(help);
      const { target } = copyOf('wrong');
      for (const args of [['--tyr'], ['--try'], ['extra'], ['--plan', '--try', target]]) {
        const { err, ...rest } = await migrate(newer, written, args);
        expect({ ...rest, err: '' }).toEqual({ ...nothing, code: 2 });
        expect(err).toMatch(/tyr|argument missing|extra|exclude each other/);
        expect(err).toContain(help.out);
      }
      expect(await copies()).toEqual([]);
    },
  );
});
