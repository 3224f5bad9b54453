import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describePostgres, postgresDatabase } from '../support/postgres.js';
import { Client } from '../support/processes/client.js';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';
import { usersHere } from '../support/processes/users-command.js';
import { isLong, itLong } from '../support/long.js';

const model = `drs: 1
name: users
database: [sqlite, postgres]
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }]
`;

/** Maps the claims of a token to a user, as the guide shows. While there is a file `hold`, logins wait. */
const login = `
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isPassword, type Login, type TokenClaims } from '#runtime/access';
import { findUser } from './generated/user-table.js';

export { endedUsers, openUsers } from './generated/user-table.js';

export async function login(user: string, password: string): Promise<Login | null> {
  const found = await findUser(user);
  const isRight = await isPassword(password, found?.password);
  await released();
  return found === undefined || !isRight
    ? null
    : { userName: found.name, privileges: found.privileges, roles: found.roles };
}

export async function loginWithToken({ sub }: TokenClaims): Promise<Login | null> {
  const found = typeof sub === 'string' ? await findUser(sub) : undefined;
  await released();
  return found === undefined ? null : { userName: found.name, privileges: found.privileges };
}

async function released(): Promise<void> {
  if (existsSync('hold')) writeFileSync('held', '');
  while (existsSync('hold')) await setTimeout(5);
}
`;
const secret = 'a secret of more than thirty-two characters';

let program: string;
let scratch: Scratch;

beforeAll(() => {
  program = compiledProgram(model, { 'src/login.ts': login });
});
beforeEach(() => {
  scratch = new Scratch(program);
});
afterEach(async () => {
  await scratch.remove();
});

const unusable = [
  ['a folder', 'folder', /^Cannot open the database of users \S*folder: .+\n$/],
  ['a file of another kind', 'text', /^Cannot open the database of users \S*text: .+\n$/],
  ['a folder that is missing', 'a/b', /^Cannot open the database of users \S*a\/b: .+\n$/],
  [
    'another database',
    'other.sqlite',
    /^Cannot open .+ \S*other\.sqlite: no such column: "folded".+\n$/,
  ],
  [
    'a PostgreSQL that is not there',
    'postgres://mia:secret@127.0.0.1:1/x',
    /^Cannot open the database of users: connect ECONNREFUSED(?!.*secret).+\n$/,
  ],
] as const;

function writeUnusable(): void {
  mkdirSync(join(scratch.folder, 'folder'));
  writeFileSync(join(scratch.folder, 'text'), 'no database'.repeat(1000));
  const other = new Database(join(scratch.folder, 'other.sqlite'));
  other.exec('create table "users" ("name" text)');
  other.close();
}

it.each(isLong ? unusable : unusable.slice(0, 1))(
  'A USERS_DATABASE that names %s stops the start with one line',
  async (_what, named, told) => {
    writeUnusable();
    const launched = scratch.launch({ environment: { USERS_DATABASE: named } });
    await expect(launched.listening).rejects.toThrow();
    const { code, stderr } = await launched.ended;
    expect(stderr).toMatch(told);
    expect(code).toBe(1);
  },
);

// A start opens it by the same function.
it.each(unusable)(
  'A USERS_DATABASE that names %s ends the command users with one line',
  async (_what, named, told) => {
    writeUnusable();
    const url = named.startsWith('postgres:') ? named : join(scratch.folder, named);
    const users = usersHere(program, scratch.folder, { USERS_DATABASE: url });
    const { code, out, err } = await users(['list']);
    expect(err).toMatch(told);
    expect([code, out]).toEqual([1, '']);
  },
);

itLong('Processes that start at once create the database of users once', async () => {
  const server = await scratch.start({ environment: { PROCESSES: isLong ? '4' : '2' } });
  const answer = await new Client(server.origin).post('/rest/$directory/login', ['mia', 'x']);
  expect(answer).toMatchObject({ status: 401, body: { result: false } });
});

it('The first login on a full disk is answered like every other one', async (context) => {
  if (spawnSync('prlimit', ['--fsize']).status !== 0) context.skip('There is no prlimit here.');
  const server = await scratch.start();
  execFileSync('prlimit', ['--pid', String(server.child.pid), '--fsize=0:unlimited']);
  const answer = await new Client(server.origin).post('/rest/$directory/login', ['mia', 'x']);
  expect(answer).toMatchObject({ status: 401, body: { result: false } });
});

/** What an earlier drs-gen wrote into servers on SQLite: their users own these files now. */
const earlierFiles = {
  'src/users.ts': `
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { hashPassword } from '#runtime/access';

export interface User {
  readonly name: string;
  readonly password: string;
  readonly privileges: readonly string[];
  readonly roles: readonly string[];
}

interface UserRow {
  readonly name: string;
  readonly password: string;
  readonly privileges: string;
  readonly roles: string;
}

let opened: Database.Database | undefined;

function users(): Database.Database {
  if (opened !== undefined) return opened;
  const { DATABASE_URL = '', USERS_DATABASE = '' } = process.env;
  const beside = join(dirname(DATABASE_URL.replace(/^sqlite:/, '')), 'users.sqlite');
  opened = new Database(USERS_DATABASE === '' ? beside : USERS_DATABASE);
  opened.exec(\`create table if not exists "users" (
    "folded" text primary key,
    "name" text not null,
    "password" text not null,
    "privileges" text not null,
    "roles" text not null
  ) strict\`);
  return opened;
}

export function openUsers(): void {
  users();
}

export function findUser(name: string): Promise<User | undefined> {
  const row = users()
    .prepare<[string], UserRow>('select * from "users" where "folded" = ?')
    .get(folded(name));
  if (row === undefined) return Promise.resolve(undefined);
  const { privileges, roles } = row;
  return Promise.resolve({
    ...row,
    privileges: JSON.parse(privileges) as string[],
    roles: JSON.parse(roles) as string[],
  });
}

export async function createUser(user: User): Promise<void> {
  const { name, privileges, roles } = user;
  const password = await hashPassword(user.password);
  users()
    .prepare('insert or replace into "users" values (?, ?, ?, ?, ?)')
    .run(folded(name), name, password, JSON.stringify(privileges), JSON.stringify(roles));
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
`,
  'src/create-user.ts': `
import { createUser } from './users.js';

const [name = '', password = ''] = process.argv.slice(2);
await createUser({ name, password, roles: [], privileges: ['view'] });
`,
  'src/login.ts': `
import { isPassword, type Login } from '#runtime/access';
import { findUser } from './users.js';

export { openUsers } from './users.js';

export async function login(user: string, password: string): Promise<Login | null> {
  const found = await findUser(user);
  const isRight = await isPassword(password, found?.password);
  if (found === undefined || !isRight) return null;
  return { userName: found.name, privileges: found.privileges, roles: found.roles };
}
`,
};

itLong(
  'A server with the table of users of an earlier drs-gen shares it with the command users',
  async () => {
    const earlier = compiledProgram(model, earlierFiles);
    const place = new Scratch(earlier);
    try {
      const { origin } = await place.start();
      const logIn = async (name: string, password: string): Promise<number> =>
        (await new Client(origin).post('/rest/$directory/login', [name, password])).status;
      const users = usersHere(earlier, place.folder);
      const createUser = join(dirname(earlier), 'create-user.js');
      const env = { PATH: process.env['PATH'], DATABASE_URL: `sqlite:${place.folder}/data.sqlite` };
      execFileSync(process.execPath, [createUser, 'Mia', 'first'], { env });
      expect(await users(['add', 'bob', '--privilege', 'view'], 'other')).toMatchObject({
        code: 0,
      });
      execFileSync(process.execPath, [createUser, 'Eve', 'third'], { env });
      expect(await users(['list'])).toMatchObject({
        out: ['bob', 'Eve', 'Mia']
          .map((name) => `${name}\tenabled\troles: none\tprivileges: view\n`)
          .join(''),
      });
      const statuses = [await logIn('mia', 'first'), await logIn('bob', 'other')];
      expect(statuses).toEqual([200, 200]);
      expect(await users(['disable', 'mia'])).toMatchObject({ code: 0 });
      expect([await logIn('mia', 'first'), await logIn('eve', 'third')]).toEqual([401, 200]);
    } finally {
      await place.remove();
    }
  },
);

function tokenOf(sub: string): Promise<string> {
  return new SignJWT({ sub })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
}

/** Everything that ends a user's sessions does so before the next request, if each asks for its session. */
async function endsSessions(
  environment: Readonly<Record<string, string>>,
  servers = 1,
): Promise<void> {
  const settings = { TOKEN_KEY: secret, SESSION_TRUST: '0', ...environment };
  const users = usersHere(program, scratch.folder, environment);
  const done = async (args: readonly string[], input?: string): Promise<void> => {
    const { code, err } = await users(args, input);
    expect(code, err).toBe(0);
  };
  const origins: string[] = [];
  for (let server = 0; server < servers; server += 1) {
    origins.push((await scratch.start({ environment: settings })).origin);
  }
  const logIn = async (client: Client, user: string, password: string): Promise<number> =>
    (await client.post('/rest/$directory/login', [user, password])).status;
  const nameOf = async (origin: string, headers: Record<string, string>): Promise<unknown> => {
    const answer = await fetch(`${origin}/rest/$directory/currentUser`, { headers });
    const { result } = (await answer.json()) as {
      readonly result?: { readonly userName: string } | null;
    };
    return answer.status === 200 ? (result?.userName ?? null) : answer.status;
  };
  await done(['add', 'Mia', '--privilege', 'view'], 'first');
  await done(['add', 'bob', '--privilege', 'view'], 'other');
  const bob = new Client(origins.at(-1) ?? '');
  expect(await logIn(bob, 'bob', 'other')).toBe(200);
  const authorization = `Bearer ${await tokenOf('mia')}`;
  let password = 'first';
  for (const [args, input] of [
    [['logout', 'mia']],
    [['roles', 'mia', '--none']],
    [['password', 'MIA'], 'second'],
    [['disable', 'mia']],
    [['enable', 'mia']],
    [['remove', 'mia']],
  ] as const) {
    const mia = new Client(origins[0] ?? '');
    const isOut = args[0] === 'enable';
    expect(await logIn(mia, 'mia', password), args[0]).toBe(isOut ? 401 : 200);
    const cookie = mia.cookie ?? '';
    for (const origin of origins) {
      expect(await nameOf(origin, { cookie })).toBe(isOut ? null : 'Mia');
      expect(await nameOf(origin, { authorization })).toBe(isOut ? 401 : 'Mia');
    }
    await done(args, input);
    if (input !== undefined) password = input;
    for (const origin of origins) expect(await nameOf(origin, { cookie }), args[0]).toBe(null);
  }
  expect(await users(['list'])).toMatchObject({
    out: 'bob\tenabled\troles: none\tprivileges: view\n',
  });
  expect(await logIn(new Client(origins[0] ?? ''), 'mia', password)).toBe(401);
  // Another login may begin at once, and others are not concerned.
  for (const origin of origins) {
    expect(await nameOf(origin, { authorization })).toBe(401);
    expect(await nameOf(origin, { cookie: bob.cookie ?? '' })).toBe('bob');
  }
}

describe('A session ends at once if its user is changed, disabled or removed', () => {
  it('in the memory of a server, with users beside a database file', () => endsSessions({}));

  itLong('in a file, for several servers', () => endsSessions({ STATE: 'database' }, 2));

  describePostgres('with PostgreSQL', () => {
    const ends = async (STATE: string, servers: number): Promise<void> => {
      const database = await postgresDatabase();
      await endsSessions({ DATABASE_URL: database.url, STATE }, servers);
      await database.drop();
    };

    itLong('and STATE=database', () => ends('database', 2));

    itLong('and STATE=memory', () => ends('memory', 1));
  });
});

/** A login that has read its user already when the user is changed. */
async function heldLogins(environment: Readonly<Record<string, string>>): Promise<void> {
  const users = usersHere(program, scratch.folder, environment);
  const { origin } = await scratch.start({ environment: { TOKEN_KEY: secret, ...environment } });
  const [hold, held] = [join(scratch.folder, 'hold'), join(scratch.folder, 'held')];
  const headers = { authorization: `Bearer ${await tokenOf('mia')}` };
  const address = `${origin}/rest/$directory/currentUser`;
  const logins = {
    password: (client: Client): Promise<number> =>
      client.post('/rest/$directory/login', ['mia', 'first']).then(({ status }) => status),
    token: (): Promise<number> => fetch(address, { headers }).then(({ status }) => status),
  };
  await users(['add', 'Mia', '--privilege', 'view'], 'first');
  await users(['add', 'bob'], 'other');
  const bob = new Client(origin);
  expect((await bob.post('/rest/$directory/login', ['bob', 'other'])).status).toBe(200);
  for (const [kind, args, input, expected] of [
    ['password', ['roles', 'mia', '--none'], '', 200],
    ['token', ['disable', 'mia'], '', 401],
    ['password', ['disable', 'mia'], '', 401],
    ['password', ['password', 'mia'], 'second', 401],
  ] as const) {
    expect(await users(['enable', 'mia'])).toMatchObject({ code: 0 });
    writeFileSync(hold, '');
    const client = new Client(origin);
    const login = logins[kind](client);
    while (!existsSync(held)) await setTimeout(5);
    expect(await users(args, input)).toMatchObject({ code: 0 });
    // Another request finds out first which sessions have ended.
    await bob.get('/rest/$directory/currentUser');
    rmSync(hold);
    rmSync(held);
    expect([...args, await login]).toEqual([...args, expected]);
    const { body } = await client.get('/rest/$directory/currentUser');
    expect(body).toMatchObject({ result: expected === 200 ? { userName: 'Mia' } : null });
  }
}

describe('A login that runs while its user is changed or disabled', () => {
  it('begins no session in the memory of a server', () => heldLogins({}));

  it('begins no session in a file', () => heldLogins({ STATE: 'database' }));
});
