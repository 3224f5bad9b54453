import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { modelFile } from './model-file.js';
import { postgresCopies, postgresDatabase } from './postgres.js';
import { create, isOnPostgres, packageRoot, serverOf } from './server.js';

/** The time at which everything in the fixture was created. */
export const moment = '2026-03-01T10:20:30.456Z';

/** Key of the employee of that number. */
export function employee(number: number): string {
  return String(number).padStart(32, '0');
}

const companies = [
  {
    name: 'Ärger',
    city: 'Berlin',
    founded: '1990-05-04',
    revenue: 1500.5,
    headcount: 12,
    rank: 'gold',
    extra: { tags: ['a', 'b'], deep: { x: 1 } },
    embedding: [1, 0, 0],
  },
  { name: 'Bolt', city: 'Paris', revenue: 20, headcount: 7, rank: 'silver' },
  { name: "O'Reilly & Co", city: 'paris', revenue: -3, active: false },
  { name: 'Zeta' },
];

const employees = [
  {
    ID: employee(1),
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.org',
    birthDate: '1815-12-10',
    hiredAt: '2020-01-02T03:04:05.678Z',
    salary: 5000,
    shift: 28_800_000,
    remote: true,
    employer: 1,
  },
  {
    ID: employee(2),
    firstName: 'Bo',
    lastName: 'Ångström',
    salary: 3000,
    employer: 1,
    boss: employee(1),
  },
  {
    ID: employee(3),
    firstName: 'Cy',
    lastName: 'Cohen',
    salary: 3000,
    employer: 2,
    boss: employee(1),
  },
  { ID: employee(4), firstName: 'Dee', lastName: 'LOVELACE', remote: false, boss: employee(2) },
];

const notes = [
  { code: 'A/1 (x)', text: 'first', about: employee(1) },
  { code: 'b', text: 'second', about: employee(1), parent: 'a/1 (X)' },
];

/** The media of the first company, in hexadecimal digits: the beginning of a PNG, and `<script>`. */
export const logo = '89504e470d0a1a0a0000000d';
export const brochure = '3c7363726970743e';

/** Number of entities that the fixture creates, and so the datastore's stamp. */
export const created = companies.length + employees.length + notes.length + 1;

/** Creates the entities of the fixture; the clock must be set to {@link moment}. */
export async function fill(app: FastifyInstance): Promise<void> {
  await create(app, 'Company', companies);
  await create(app, 'Employee', employees);
  await create(app, 'Company', [{ name: 'Managed', city: 'Oslo', manager: employee(1) }]);
  await create(app, 'Note', notes);
}

interface FilledServer {
  readonly app: FastifyInstance;
  readonly close: () => Promise<void>;
}

/**
 * A server with the entities of the fixture, and with data that HTTP cannot store: the first
 * company has media.
 */
export async function filledServer(options: AppOptions = {}): Promise<FilledServer> {
  const { databaseUrl, setMedia, drop } = isOnPostgres ? await onPostgres() : inFile();
  const app = await serverOf(modelFile('staff'), { databaseUrl, ...options });
  await fill(app);
  await setMedia();
  return {
    app,
    close: async () => {
      await app.close();
      await drop();
    },
  };
}

/** A server with the fixture's entities, for one row that changes them. */
export async function changeableServer(): Promise<FilledServer> {
  if (isOnPostgres) {
    const { url, drop } = await copied();
    const app = await serverOf(modelFile('staff'), { databaseUrl: url, environment: pool });
    return { app, close: () => app.close().then(drop) };
  }
  const app = await serverOf(modelFile('staff'));
  await fill(app);
  return { app, close: () => app.close() };
}

/**
 * Servers on one PostgreSQL database with the fixture's entities, of which each request goes to the
 * next one.
 */
export async function serversInTurn(count: number): Promise<FilledServer> {
  const { url, drop } = await copied();
  await setMediaOf(url);
  const open = (): Promise<FastifyInstance> =>
    serverOf(modelFile('staff'), { databaseUrl: url, environment: pool });
  const servers = [await open()];
  while (servers.length < count) servers.push(await open());
  let requests = 0;
  const inject = (...given: Parameters<FastifyInstance['inject']>): unknown => {
    requests += 1;
    return servers[requests % count]?.inject(...given);
  };
  const app = Object.create(servers[0] as FastifyInstance, {
    inject: { value: inject },
  }) as FastifyInstance;
  const close = async (): Promise<void> => {
    for (const each of servers) await each.close();
    await drop();
  };
  return { app, close };
}

const pool = { DATABASE_POOL: '3' };

const copied = postgresCopies(async (databaseUrl) => {
  const app = await serverOf(modelFile('staff'), { databaseUrl, environment: pool });
  await fill(app);
  await app.close();
});

interface FixtureDatabase {
  readonly databaseUrl: string;
  readonly setMedia: () => void | Promise<void>;
  readonly drop: () => void | Promise<void>;
}

function inFile(): FixtureDatabase {
  const temporary = join(packageRoot, '.tmp');
  mkdirSync(temporary, { recursive: true });
  const folder = mkdtempSync(join(temporary, 'fixture-'));
  const file = join(folder, 'data.sqlite');
  return {
    databaseUrl: `sqlite:${file}`,
    setMedia: () => {
      const database = new Database(file);
      database
        .prepare('update "Company" set "logo" = ?, "brochure" = ? where "ID" = 1')
        .run(Buffer.from(logo, 'hex'), Buffer.from(brochure, 'hex'));
      database.close();
    },
    drop: () => {
      rmSync(folder, { recursive: true });
    },
  };
}

async function onPostgres(): Promise<FixtureDatabase> {
  const { url, drop } = await postgresDatabase();
  return {
    databaseUrl: url,
    setMedia: () => setMediaOf(url),
    drop,
  };
}

async function setMediaOf(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('update "Company" set "logo" = $1, "brochure" = $2 where "ID" = 1', [
    Buffer.from(logo, 'hex'),
    Buffer.from(brochure, 'hex'),
  ]);
  await client.end();
}
