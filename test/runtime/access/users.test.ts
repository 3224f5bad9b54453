import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { StoredUsers } from '../../../runtime/users/user-table.js';
import { packageRoot } from '../../support/server.js';
import { compiledProgram } from '../../support/processes/program.js';
import { usersCommand, usersHere } from '../../support/processes/users-command.js';

const model = `drs: 1
name: users
database: [sqlite, postgres]
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: manage }]
  roles: [{ role: HR, privileges: [] }, { role: The Boss, privileges: [manage] }]
`;

let folder: string;
let program: string;

beforeAll(() => {
  program = compiledProgram(model);
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'users-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

// Sessions, and users in PostgreSQL, are tested with servers, in `durability/`.
it('Users beside a database file are added, listed, changed and removed by the command line', async () => {
  const users = usersHere(program, folder);
  const done = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, err } = await users(args, input);
    expect(code, err).toBe(0);
    return err;
  };
  const listed = async (): Promise<string> => (await users(['list'])).out;
  expect(await listed()).toBe('');
  const grants = ['--role', 'hr', '--role', 'The Boss', '--privilege', 'webadmin'];
  // One in a process of its own, whose database is in the current folder.
  expect(await usersCommand(program, folder)(['add', 'Mia', ...grants], 'sécret\n')).toEqual({
    code: 0,
    out: '',
    err: 'Mia can log in now.\n',
  });
  await done(['add', "O'Neill"], 'other');
  expect(await listed()).toBe(
    'Mia\tenabled\troles: hr, The Boss\tprivileges: webadmin\n' +
      "O'Neill\tenabled\troles: none\tprivileges: none\n",
  );
  expect(await done(['roles', 'mIA', '--privilege', 'view'])).toBe(
    'Mia has other roles and privileges, and all sessions of this user have ended.\n',
  );
  await done(['disable', 'mia']);
  await done(['password', 'mia'], 'new\n');
  expect(await listed()).toContain('Mia\tdisabled\troles: none\tprivileges: view\n');
  expect(await done(['enable', 'mia'])).toBe('Mia can log in again.\n');
  await done(['roles', 'mia', '--none']);
  expect(await listed()).toContain('Mia\tenabled\troles: none\tprivileges: none\n');
  expect(await done(['remove', "o'neill"])).toBe(
    "O'Neill is removed, and all sessions of this user have ended.\n",
  );
  expect(await users(['add', 'MIA'], 'x')).toEqual({
    code: 1,
    out: '',
    err: 'MIA exists already. The commands roles and password change what a user may do, and the password.\n',
  });
  for (const verb of ['disable', 'password']) {
    const told = 'There is no user mai. Did you mean Mia?\n';
    expect(await users([verb, 'mai'], 'x')).toEqual({ code: 1, out: '', err: told });
  }
  expect((await users(['roles', "' or 1=1 --", '--none'])).err).toBe(
    "There is no user ' or 1=1 --.\n",
  );
  expect(await listed()).toBe('Mia\tenabled\troles: none\tprivileges: none\n');
});

describe('The command users', () => {
  it('prints its usage, and ends with 2 if the command line is wrong', async () => {
    const users = usersHere(program, folder);
    const help = await users(['--help']);
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(await usersCommand(program, folder)(['lst'])).toMatchObject({ code: 2, out: '' });
    for (const [args, told] of [
      [[], 'Name a command.'],
      [['lst'], 'There is no command lst. Did you mean list?'],
      [['list', 'mia'], 'list takes no name.'],
      [['disable'], 'disable takes one name.'],
      [['remove', 'mia', '--role', 'HR'], '--role and --privilege belong to add and roles.'],
      [['roles', 'mia'], 'Name each --role and --privilege that the user has, or --none.'],
      [['add', 'mia', '--password', 'x'], "Unknown option '--password'"],
    ] as const) {
      const { code, out, err } = await users(args, 'password');
      expect([code, out], args.join(' ')).toEqual([2, '']);
      expect(err).toContain(told);
      expect(err).toContain(help.out);
    }
  });

  it('refuses names, passwords, roles and privileges that nobody could use', async () => {
    const users = usersHere(program, folder);
    const unknown = ['--role', 'hr', '--role', 'The Bos', '--privilege', 'mange'];
    expect(await users(['add', 'eva', ...unknown], 'password')).toEqual({
      code: 1,
      out: '',
      err:
        'The model has no role The Bos. Did you mean The Boss? It has HR, The Boss.\n' +
        'The model has no privilege mange. Did you mean manage? It has view, manage, WebAdmin.\n',
    });
    for (const name of [' ', 'a\u001b[2Jb']) {
      const { code, err } = await users(['add', name], 'password');
      expect([code, err.startsWith('A user needs a name')]).toEqual([1, true]);
    }
    for (const password of ['\n', 'x'.repeat(1025)]) {
      const { code, err } = await users(['add', 'eva'], password);
      expect([code, err.startsWith('A user needs a password')]).toEqual([1, true]);
    }
    expect((await users(['list'])).out).not.toContain('eva');
  });
});

it('Users whose sessions have ended are found after a read that failed', async () => {
  const file = join(folder, 'ended.sqlite');
  vi.stubEnv('USERS_DATABASE', file);
  const stored = await StoredUsers.open([]);
  const users = usersHere(program, folder, { USERS_DATABASE: file });
  await users(['add', 'mia'], 'secret');
  await users(['disable', 'mia']);
  const probe = new Database(':memory:');
  const statement = Object.getPrototypeOf(probe.prepare('select 1')) as Database.Statement;
  probe.close();
  vi.spyOn(statement, 'all').mockImplementationOnce(() => {
    throw new Error('disk I/O error');
  });
  await expect(stored.ended()).rejects.toThrow('disk I/O error');
  expect(await stored.ended()).toEqual(['mia']);
  await stored.close();
  vi.restoreAllMocks();
});
