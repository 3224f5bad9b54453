import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fastifyCors } from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { SignJWT } from 'jose';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { writeClient } from '../support/built-client.js';
import { chromiumPath, hasChromium } from '../support/chromium.js';
import { packageRoot } from '../support/server.js';
import {
  type StaffClient,
  staffClient,
  staffModel,
  staffServer,
} from '../support/staff-example.js';

const secret = 'a secret of more than thirty-two characters';
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Routes as a user writes them in `main.ts`; pages of `partner` may use one of them. */
function addOwnRoutes(app: FastifyInstance): void {
  app.put('/own', (request) => ({ user: request.session.userName, sent: request.body }));
  app.get('/own/broken', () => {
    throw new Error('broken');
  });
  app.register(async (scope) => {
    await scope.register(fastifyCors, { origin: /^http:\/\/partner\.localhost:\d+$/ });
    scope.get('/shared', (request) => ({ user: request.session.userName }));
  });
}

declare global {
  /** The module, in a page. */
  var staffClient: StaffClient;
}

describe.skipIf(!hasChromium)('A typed client in a browser', () => {
  let browser: BrowserContext;
  let profile: string;
  /** Serves the page of the example and its client. */
  let front: Server;
  let port: number;
  let app: FastifyInstance | undefined;
  let url: string;
  let client: StaffClient;

  beforeAll(async () => {
    client = await staffClient();
    const module = await writeClient(staffModel);
    front = createServer(({ url: path = '/' }, response) => {
      const name = path === '/' || path.startsWith('/?') ? 'index.html' : path.slice(1);
      const file = name.startsWith('client/')
        ? join(module, name.slice('client/'.length))
        : join(packageRoot, 'examples/web', name);
      if (!existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'text/plain' });
      response.end(readFileSync(file));
    });
    await new Promise<void>((resolve) => front.listen(0, resolve));
    ({ port } = front.address() as AddressInfo);
    profile = mkdtempSync(join(tmpdir(), 'drs-browser-'));
    mkdirSync(join(profile, 'Default'));
    // By itself it blocks cookies of other sites.
    const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
    writeFileSync(join(profile, 'Default/Preferences'), JSON.stringify(preferences));
    browser = await chromium.launchPersistentContext(profile, {
      executablePath: chromiumPath(),
      args: ['--no-sandbox'],
    });
  });

  afterEach(() => app?.close());

  afterAll(async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
    front.close();
  });

  /** Starts a server that lists the origin, and opens a page there. */
  async function open(host: string, path: string): Promise<Page> {
    const origin = `http://${host}:${port}`;
    const environment = { ORIGINS: origin, TOKEN_KEY: secret };
    ({ app, url } = await staffServer({ environment, extend: addOwnRoutes }));
    const ds = client.connect(url);
    await ds.session.login('mia', 'example');
    const acme = ds.Company.new({ name: 'Acme', city: 'Paris' });
    await acme.save();
    const people = Array.from({ length: 12 }, (_, at) =>
      ds.Employee.new({ lastName: `Person ${String(at).padStart(2, '0')}`, employer: acme }),
    );
    await ds.atomic(people);
    await browser.clearCookies();
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(`${origin}${path.replace('URL', encodeURIComponent(url))}`);
    return page;
  }

  it.each([
    ['another origin of the same site', '127.0.0.1'],
    ['another site', 'localhost'],
  ])('is a page that lists, filters and edits, and shows a conflict, from %s', async (_, host) => {
    const page = await open(host, '/?server=URL');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('The name or the password is wrong.').waitFor();
    await page.getByLabel('Password').fill('example');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('12 employees').waitFor();
    const rows = page.locator('main tbody tr');
    expect(await rows.count()).toBe(10);
    expect(await rows.first().textContent()).toContain('Acme');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Person 11').waitFor();
    expect(await rows.count()).toBe(2);

    await page.getByLabel('Last name begins with').fill('person 03');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('1 employees').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const editor = page.locator('#editor');
    await editor.getByLabel('Email').fill('no mail');
    await editor.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('#problem').textContent()).toContain('email');
    await editor.getByLabel('Email').fill('p3@example.com');
    await editor.getByLabel('Role').selectOption('designer');

    const other = client.connect(url);
    await other.session.login('mia', 'example');
    const same = await other.Employee.query('lastName = :1', 'Person 03').first();
    if (same === null) throw new Error('Nobody is there.');
    same.role = 'manager';
    same.firstName = 'Ada';
    await same.save();

    await editor.getByRole('button', { name: 'Save' }).click();
    const conflict = page.locator('#conflict');
    await conflict.getByText('Somebody else has changed this employee.').waitFor();
    expect(await conflict.locator('tbody').textContent()).toContain('designermanager');
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('cell', { name: 'designer' }).waitFor();
    await same.reload();
    expect([same.role, same.email, same.firstName, same.stamp]).toEqual([
      'designer',
      'p3@example.com',
      null,
      3,
    ]);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.close();
  });

  it('is a page that uses own routes as ORIGINS and a plugin of the user allow it', async () => {
    const page = await open('localhost', '/?server=URL');
    await page.getByLabel('Password').fill('example');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('12 employees').waitFor();
    /** What a page gets: the status and body of an answer, or nothing. */
    const ask = (from: Page, path: string, method = 'GET'): Promise<unknown> =>
      from.evaluate(
        async ([address, verb]) => {
          const headers = { 'content-type': 'application/json' };
          const sent = verb === 'PUT' ? { headers, body: '{"a":1}' } : {};
          const request = { method: verb, credentials: 'include', ...sent } as const;
          const answer = await fetch(address, request).catch(() => undefined);
          if (answer === undefined) return 'refused';
          const body = (await answer.json()) as Record<string, unknown>;
          return [answer.status, body['user'] ?? body['ok'] ?? body['message']];
        },
        [`${url}${path}`, method] as const,
      );
    expect(await ask(page, '/own', 'PUT')).toEqual([200, 'mia']);
    expect(await ask(page, '/own/broken')).toEqual([500, 'broken']);
    expect(await ask(page, '/own/nothing')).toEqual([404, 'Route GET:/own/nothing not found']);
    expect(await ask(page, '/health')).toEqual([200, true]);
    expect(await ask(page, '/shared')).toEqual([200, 'mia']);
    await page.goto(`http://partner.localhost:${port}/`);
    expect(await ask(page, '/own', 'PUT')).toBe('refused');
    expect(await ask(page, '/own/broken')).toBe('refused');
    expect(await ask(page, '/health')).toBe('refused');
    // The plugin allows no credentials.
    expect(await ask(page, '/shared')).toBe('refused');
    const shared: unknown = await page.evaluate(
      async (address) => (await fetch(address)).json(),
      `${url}/shared`,
    );
    expect(shared).toEqual({ user: '' });
    await page.close();
  });

  it('reads, writes, uploads and calls functions from another site with a token', async () => {
    const page = await open('localhost', '/?server=URL');
    await page.addScriptTag({
      type: 'module',
      content: `import * as client from './client/client.js'; globalThis.staffClient = client;`,
    });
    await page.waitForFunction(() => 'staffClient' in globalThis);
    const token = await new SignJWT({ sub: 'mia' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(secret));
    const done = await page.evaluate(
      async ([server, bearer]) => {
        const { connect, RestError } = globalThis.staffClient;
        const ds = connect(server, { token: bearer });
        const names: string[] = [];
        for await (const { lastName } of connect(server, { token: bearer, pageSize: 5 })
          .Employee.all()
          .orderBy('lastName desc')) {
          names.push(lastName);
        }
        const person = ds.Employee.new({ lastName: 'New', cv: new Uint8Array([1, 2, 3]) });
        await person.save();
        const cv = await person.cv.read();
        const refused: unknown = await ds.Employee.new({ lastName: 'X', email: 'no' })
          .save()
          .catch((error: unknown) => error);
        const acme = await ds.Company.query('name = :1', 'Acme').first();
        const hired = await acme?.hire(person);
        const guest = connect(server);
        return {
          names,
          cv: [...new Uint8Array((await cv?.arrayBuffer()) ?? [])],
          refused: refused instanceof RestError ? [refused.status, refused.attribute] : [],
          employer: hired?.employer.key,
          guest: await guest.session.userName(),
        };
      },
      [url, token] as const,
    );
    expect(done).toEqual({
      names: Array.from({ length: 12 }, (_, at) => `Person ${String(11 - at).padStart(2, '0')}`),
      cv: [1, 2, 3],
      refused: [422, 'email'],
      employer: 1,
      guest: null,
    });
    await page.close();
  });
});
