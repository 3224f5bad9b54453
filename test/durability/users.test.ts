import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Client } from '../support/processes/client.js';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';

const model = `drs: 1
name: users
database: [sqlite, postgres]
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
roles:
  privileges: [{ privilege: view }]
`;

let program: string;
let scratch: Scratch;

beforeAll(() => {
  program = compiledProgram(model);
});
beforeEach(() => {
  scratch = new Scratch(program);
});
afterEach(async () => {
  await scratch.remove();
});

it.each([
  ['a folder', 'folder', /^Cannot open the database of users folder: .+\n$/],
  ['a file of another kind', 'text', /^Cannot open the database of users text: .+\n$/],
  ['a folder that is missing', 'a/b', /^Cannot open the database of users a\/b: .+\n$/],
  [
    'another database',
    'other.sqlite',
    /^Cannot open .+ other\.sqlite: no such column: "folded".+\n$/,
  ],
  [
    'a PostgreSQL that is not there',
    'postgres://mia:secret@127.0.0.1:1/x',
    /^Cannot open the database of users: connect ECONNREFUSED(?!.*secret).+\n$/,
  ],
])('A USERS_DATABASE that names %s stops the start with one line', async (_what, named, told) => {
  mkdirSync(join(scratch.folder, 'folder'));
  writeFileSync(join(scratch.folder, 'text'), 'no database'.repeat(1000));
  const other = new Database(join(scratch.folder, 'other.sqlite'));
  other.exec('create table "users" ("name" text)');
  other.close();
  const launched = scratch.launch({ environment: { USERS_DATABASE: named } });
  await expect(launched.listening).rejects.toThrow();
  const { code, stderr } = await launched.ended;
  expect(stderr).toMatch(told);
  expect(code).toBe(1);
});

it('Processes that start at once create the database of users once', async () => {
  const server = await scratch.start({ environment: { PROCESSES: '4' } });
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
