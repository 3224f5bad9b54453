import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { filesOfServer } from './users-server.js';
import { packageRoot } from '../../support/server.js';

interface LoginFile {
  readonly login: (user: string, password: string) => Promise<object | null>;
}

let folder: string;
let environment: NodeJS.ProcessEnv;

/** The files of a server by which users log in, as `tsc` would write them. */
beforeAll(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'users-'));
  for (const { path, text } of filesOfServer()) {
    const target = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(join(target, '..'), { recursive: true });
    writeFileSync(target, path.endsWith('.ts') ? compiled(text) : text);
  }
  environment = { ...process.env, DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}` };
  delete environment['USERS_DATABASE'];
});
afterAll(() => {
  delete process.env['USERS_DATABASE'];
  rmSync(folder, { recursive: true });
});

function compiled(text: string): string {
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(text, { compilerOptions: options }).outputText;
}

async function createUser(
  password: string,
  ...parts: string[]
): Promise<readonly [code: number | null, told: string]> {
  const file = join(folder, 'src/create-user.js');
  const child = spawn(process.execPath, [file, ...parts], { env: environment });
  let told = '';
  child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
  // It may end before it has read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(password);
  return [await new Promise((resolve) => child.once('close', resolve)), told];
}

it('A user who was created can log in, with roles and privileges', async () => {
  const roles = ['--role', 'HR', '--role', 'The Boss', '--privilege', 'view'];
  expect(await createUser('sécret\n', 'Mia', ...roles)).toEqual([0, 'Mia can log in now.\n']);
  expect(await createUser('other', "O'Neill")).toEqual([0, "O'Neill can log in now.\n"]);
  process.env['USERS_DATABASE'] = join(folder, 'users.sqlite');
  const url = pathToFileURL(join(folder, 'src/login.js')).href;
  const { login } = (await import(/* @vite-ignore */ url)) as LoginFile;
  const mia = { userName: 'Mia', roles: ['HR', 'The Boss'], privileges: ['view'] };
  expect(await login('mIA', 'sécret')).toEqual(mia);
  expect(await login("o'neill", 'other')).toMatchObject({ userName: "O'Neill", roles: [] });
  for (const [user, password] of [
    ['mia', 'Sécret'],
    ['mia', ''],
    ['mia', 'other'],
    ['bob', 'sécret'],
    ['', ''],
    ["' or 1=1 --", 'x'],
  ] as const) {
    expect(await login(user, password)).toBeNull();
  }
  const replaced = 'MIA exists already: password, roles and privileges are replaced.\n';
  expect(await createUser('new\n', 'MIA')).toEqual([0, `${replaced}MIA can log in now.\n`]);
  expect(await login('mia', 'sécret')).toBeNull();
  expect(await login('mia', 'new')).toEqual({ userName: 'MIA', roles: [], privileges: [] });
});

it.each([[['x']], [['']], [[]], [['a', 'b']], [['a', '--nothing', 'x']]])(
  'An invalid user is refused with a message: %j',
  async (parts) => {
    const [code, told] = await createUser(parts[0] === 'x' ? '' : 'password', ...parts);
    expect(code).toBe(1);
    expect(told).not.toBe('');
    expect(told).not.toMatch(/\n +at /);
  },
);

it('A user with roles or privileges that the model does not declare is refused with a message', async () => {
  const unknown = ['--role', 'hr', '--role', 'The Bos', '--privilege', 'mange'];
  expect(await createUser('password', 'eva', ...unknown)).toEqual([
    1,
    'The model has no role The Bos. Did you mean The Boss? It has HR, The Boss.\n' +
      'The model has no privilege mange. Did you mean manage? It has view, manage, WebAdmin.\n',
  ]);
  const told = 'The model has no privilege HR. It has view, manage, WebAdmin.\n';
  expect(await createUser('password', 'eva', '--privilege', 'HR')).toEqual([1, told]);
  const known = ['--role', 'hr', '--privilege', 'webadmin'];
  expect(await createUser('password', 'eva', ...known)).toEqual([0, 'eva can log in now.\n']);
});
