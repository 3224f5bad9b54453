import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typeErrors } from '../support/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { compiledServer } from '../support/compiled-server.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { Client } from '../support/processes/client.js';
import { kill, type ServerProcess, start } from '../support/processes/server-process.js';

const guide = readFileSync(join(packageRoot, 'runtime/docs/own-routes.md'), 'utf8');
const example = join(packageRoot, 'examples/staff');

/** The blocks of TypeScript, by the file in the first line of each. */
const blocks = [...guide.matchAll(/```ts\n(?:\/\/ (\S+)\n)?([\s\S]*?)```/g)].map(
  ([, path, code = '']) => ({ path, code }),
);

/** Every login succeeds, with the privileges in the password. */
const login = `export function login(userName: string, privileges: string) {
  return { userName, privileges };
}
`;

const classes = readdirSync(join(example, 'server/src/classes')).map((name) => {
  const path = `src/classes/${name}`;
  return [path, readFileSync(join(example, 'server', path), 'utf8')] as const;
});

const written: Record<string, string> = {
  'src/login.ts': login,
  ...Object.fromEntries(classes),
  ...Object.fromEntries(blocks.map(({ path = '', code }) => [path, code])),
};

let folder: string;
let server: ServerProcess;
let hr: Client;
let viewer: Client;
let guest: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(packageRoot, '.tmp', 'guide-'));
  const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
  const program = compiledServer(writeServer(model, written));
  server = await start(join(program, 'dist/src/main.js'), { folder });
  [hr, viewer, guest] = [
    new Client(server.origin),
    new Client(server.origin),
    new Client(server.origin),
  ];
  await hr.post('/rest/$directory/login', ['mia', 'manageStaff']);
  await viewer.post('/rest/$directory/login', ['bob', 'viewStaff']);
  await hr.post('/rest/Company?$method=update', [{ name: 'Blue' }, { name: 'Empty' }]);
  const employees = [
    { lastName: 'A', salary: 100, employer: 1 },
    { lastName: 'B', salary: 200, employer: 1 },
    { lastName: 'C', employer: 1 },
  ];
  await hr.post('/rest/Employee?$method=update', employees);
});

afterAll(async () => {
  await kill(server);
  rmSync(folder, { recursive: true, force: true });
});

async function raise(client: Client, body: object): Promise<readonly [number, unknown]> {
  const response = await fetch(`${server.origin}/raise`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: client.cookie ?? '' },
    body: JSON.stringify(body),
  });
  return [response.status, await response.json()];
}

describe('The guide to your own routes', () => {
  it('has only code of whole files, which compiles in the server of the example', async () => {
    expect(blocks.length).toBeGreaterThan(6);
    for (const { path } of blocks) expect(path).toMatch(/^(src|test)\/[\w-]+(\.test)?\.ts$/);
    const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
    const typed = join(folder, 'typed');
    cpSync(writeServer(model, {}, await typedRuntime()), typed, { recursive: true });
    for (const [path, text] of Object.entries(written)) {
      mkdirSync(dirname(join(typed, path)), { recursive: true });
      writeFileSync(join(typed, path), text);
    }
    expect(typeErrors(typed)).toEqual([]);
  });

  it('adds a route for users with the privilege to manage the staff', async () => {
    expect(await hr.get('/payroll/1')).toMatchObject({
      status: 200,
      body: { company: 'Blue', total: 300 },
    });
    expect((await viewer.get('/payroll/1')).status).toBe(403);
    expect((await guest.get('/payroll/1')).status).toBe(401);
    expect((await hr.get('/payroll/9')).status).toBe(404);
    expect((await hr.get('/payroll/x')).status).toBe(400);
  });

  it('adds a route whose body is validated', async () => {
    expect(await raise(hr, { company: 1, percent: 11 })).toEqual([
      400,
      expect.objectContaining({ code: 'FST_ERR_VALIDATION' }),
    ]);
    expect((await raise(viewer, { company: 1, percent: 10 }))[0]).toBe(403);
    expect(await raise(hr, { company: 1, percent: 10 })).toEqual([200, { raised: 2 }]);
    expect((await hr.get('/payroll/1')).body).toMatchObject({ total: 330 });
  });

  it('logs routes and times, and lists all routes', async () => {
    await hr.get('/rest/Company(1)');
    await expect.poll(server.stdout).toMatch(/^GET \/rest\/Company\(:key 200 \d+\.\d ms$/m);
    expect(server.stdout()).toContain('payroll/');
    const { body } = await hr.get<readonly string[]>('/routes');
    expect(body).toContain('GET /rest/Employee(:key');
    expect(body).toContain('POST /rest/Employee(:key');
    expect(body).toContain('POST /raise');
  });

  it('has a job that does what it says', () => {
    const program = `
      import { buildApp } from './generated/app.js';
      import { closeEmptyCompanies } from './empty-companies.js';
      const app = buildApp({ databaseUrl: 'sqlite:${join(folder, 'data.sqlite')}', logger: false });
      await app.ready();
      await closeEmptyCompanies(app.datastore);
      for await (const { name, active } of app.datastore.Company.all()) console.log(name, active);
      await app.close();
    `;
    const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
    const compiled = compiledServer(writeServer(model, { ...written, 'src/job.ts': program }));
    const told = execFileSync(process.execPath, [join(compiled, 'dist/src/job.js')], {
      cwd: folder,
    });
    expect(told.toString()).toBe('Blue true\nEmpty false\n');
  });

  it('has a unit test that passes', () => {
    const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
    const compiled = compiledServer(writeServer(model, written));
    const told = execFileSync(
      process.execPath,
      ['--test', join(compiled, 'dist/test/hire.test.js')],
      {
        cwd: folder,
        env: { PATH: process.env['PATH'] },
      },
    );
    expect(told.toString()).toMatch(/# pass 1\b|ℹ pass 1\b/);
  });
});
