import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../support/chromium.js';
import { Client } from '../support/cookies.js';
import { describeDatabases } from '../support/databases.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';
import { modelOf as catalogModelOf } from '../../runtime/explorer/model.js';
import { modelOf, serverOf } from '../support/server.js';

const environment = { EXPLORER: 'on' };

const item = `
drs: 1
name: access
dataclasses:
  Item: { attributes: { ID: { type: integer, key: true }, name: string } }
`;

const closed = `${item}
explorer: { privilege: explore }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: explore }, { privilege: manage, includes: [explore] }, { privilege: other }]
`;

let browser: Browser;
let app: FastifyInstance | undefined;

beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});

afterAll(async () => {
  if (hasChromium) await browser.close();
});

afterEach(() => app?.close());

/** Opens the explorer of a server in a browser without cookies. */
async function opened(server: FastifyInstance, address = '/explorer'): Promise<Page> {
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}${address}`);
  return page;
}

describe('The model of the explorer', () => {
  it('has no relations to dataclasses that the session does not see', () => {
    const relation = { name: 'owner', kind: 'relatedEntity', type: 'Person' };
    const many = { name: 'parts', kind: 'relatedEntities', type: 'Parts' };
    const own = { name: 'twin', kind: 'relatedEntity', type: 'Item' };
    const { dataclasses } = catalogModelOf({
      dataClasses: [{ name: 'Item', attributes: [relation, many, own] }],
    });
    expect(dataclasses.get('Item')?.attributes.map(({ name }) => name)).toEqual(['twin']);
  });
});

describe('The explorer of a model without roles', () => {
  it.skipIf(!hasChromium)('offers no login, since nobody can log in', async () => {
    app = await serverOf(item, { environment });
    const page = await opened(app);
    await page.getByRole('navigation').getByRole('link', { name: 'Item' }).waitFor();
    expect(await page.getByRole('button', { name: 'Log in' }).count()).toBe(0);
    await page.context().close();
  });
});

describe('The explorer of a model with explorer.privilege', () => {
  const start = async (): Promise<FastifyInstance> => rolesServerOf(closed, { environment });
  const files = ['/explorer', '/explorer/', '/explorer/explorer.js'];

  it('is served only to sessions that hold the privilege', async () => {
    app = await start();
    const [guest, other] = [new Client(app), await loggedIn(app, { privileges: ['other'] })];
    for (const [client, status] of [
      [guest, 401],
      [other, 403],
      [await loggedIn(app, { privileges: ['explore'] }), 200],
      [await loggedIn(app, { privileges: ['manage'] }), 200],
    ] as const) {
      for (const file of files) expect((await client.get(file)).statusCode).toBe(status);
      const head = await client.send({ method: 'HEAD', url: '/explorer/explorer.js' });
      expect(head.statusCode).toBe(status);
    }
    for (const client of [guest, other]) {
      expect((await client.get('/explorer/explorer.js')).body).toBe('');
      const { body, headers } = await client.get('/explorer');
      expect(headers['content-security-policy']).toContain("script-src 'self'");
      expect(body).toContain('src="/explorer/login.js"');
      expect(body).not.toMatch(/Item|access/);
    }
  });

  it('is served to nobody with a bearer token that nothing accepts', async () => {
    app = await start();
    const wrong = { authorization: 'Bearer x.y.z' };
    expect((await app.inject({ url: '/explorer/explorer.js', headers: wrong })).statusCode).toBe(
      401,
    );
  });

  it('gives a page that it has already seen to nobody after the logout', async () => {
    app = await start();
    const client = await loggedIn(app, { privileges: ['explore'] });
    for (const file of files) {
      const tag = String((await client.get(file)).headers.etag);
      expect((await client.get(file, { 'if-none-match': tag })).statusCode).toBe(304);
    }
    const tag = String((await client.get('/explorer/explorer.js')).headers.etag);
    const { cookie = '' } = client;
    await client.post('/rest/$directory/logout');
    for (const url of files) {
      const headers = { cookie, 'if-none-match': tag };
      expect((await app.inject({ url, headers })).statusCode).toBe(401);
    }
  });

  it('has no page for logins without the setting', async () => {
    app = await serverOf(item, { environment });
    expect((await app.inject('/explorer/login.js')).statusCode).toBe(404);
  });

  it.skipIf(!hasChromium)(
    'asks for a login in its place, and says if that is not enough',
    async () => {
      app = await start();
      const page = await opened(app, '/explorer#/Item?filter=ID+%3E+0');
      const form = page.getByRole('form', { name: 'Log in' });
      const logIn = async (granted: string): Promise<void> => {
        await form.getByLabel('Name').fill('mia');
        await form.getByLabel('Password').fill(granted);
        await form.getByRole('button').click();
      };
      await form.waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      await logIn('{ "privileges": ["other"] }');
      await form.getByRole('alert').getByText('This session may not open the explorer.').waitFor();
      await logIn('{ "privileges": ["explore"] }');
      await page.getByText('0 entities').waitFor();
      expect(await page.getByLabel('Filter').inputValue()).toBe('ID > 0');
      await page.getByRole('button', { name: 'Log out' }).click();
      await form.waitFor();
      expect(await page.getByRole('navigation').count()).toBe(0);
      await page.context().close();
    },
  );

  it.skipIf(!hasChromium)(
    'is left after a login in it by somebody who may not open it',
    async () => {
      app = await rolesServerOf(
        `${closed}  permissions: { allowed: [{ applyTo: Item, type: dataclass, read: [explore] }] }`,
        { environment },
      );
      const page = await opened(app);
      const form = page.getByRole('form', { name: 'Log in' });
      const logIn = async (granted: string): Promise<void> => {
        await form.getByLabel('Name').fill('mia');
        await form.getByLabel('Password').fill(granted);
        await form.getByRole('button').click();
      };
      await logIn('{ "privileges": ["explore"] }');
      const links = page.getByRole('navigation').getByRole('link');
      await links.getByText('Item').waitFor();
      await page.context().clearCookies();
      await links.getByText('Item').click();
      await logIn('{ "privileges": ["other"] }');
      await form.getByRole('alert').getByText('This session may not open the explorer.').waitFor();
      expect(await page.getByRole('navigation').count()).toBe(0);
      await page.context().close();
    },
  );
});

describe('A form of the explorer', () => {
  const shop = `${item}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: edit }]
  permissions:
    allowed: [{ applyTo: Item, type: dataclass, create: [edit], update: [edit] }]
`;

  it.skipIf(!hasChromium)('keeps what is typed until a login lets it save', async () => {
    app = await rolesServerOf(shop, { environment });
    const page = await opened(app, '/explorer#/Item?new=');
    const panel = page.getByRole('complementary');
    const login = page.getByRole('form', { name: 'Log in' });
    const logIn = async (): Promise<void> => {
      await login.getByLabel('Name').fill('mia');
      await login.getByLabel('Password').fill('{ "privileges": ["edit"] }');
      await login.getByRole('button').click();
      await login.waitFor({ state: 'detached' });
    };
    const save = panel.getByRole('button', { name: 'Save' });
    await panel.getByLabel('ID').fill('1');
    await panel.getByLabel('name').fill('Kept');
    await save.click();
    await logIn();
    await save.click();
    await panel.getByText('Saved.').waitFor();
    await panel.getByRole('button', { name: 'Edit' }).click();
    await panel.getByLabel('name').fill('Kept, too');
    await page.context().clearCookies();
    await save.click();
    await logIn();
    await save.click();
    await panel.getByText('Saved.').waitFor();
    await panel.getByRole('heading', { name: 'Kept, too' }).waitFor();
    await page.context().close();
  });

  it.skipIf(!hasChromium)('is left by a guest without a login', async () => {
    app = await rolesServerOf(shop, { environment });
    const page = await opened(app, '/explorer#/Item?new=');
    const login = page.getByRole('form', { name: 'Log in' });
    await page.getByRole('textbox', { name: 'ID' }).fill('1');
    await page.getByRole('button', { name: 'Save' }).click();
    await login.waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await login.waitFor({ state: 'detached' });
    await page.getByText('0 entities').waitFor();
    await page.context().close();
  });
});

describeDatabases('Servers with one store of sessions', ({ create, driver }) => {
  it('serve the explorer to nobody after a logout at one of them', async () => {
    const { url: databaseUrl, drop } = await create();
    const model = { ...modelOf(closed), databases: [driver] };
    const options = {
      databaseUrl,
      environment: { ...environment, STATE: 'database', SESSION_TRUST: '0' },
    };
    const servers = [await rolesServerOf(model, options), await rolesServerOf(model, options)];
    try {
      const [one, other] = servers as [FastifyInstance, FastifyInstance];
      const { cookie = '' } = await loggedIn(one, { privileges: ['explore'] });
      const get = async (): Promise<number> =>
        (await other.inject({ url: '/explorer/explorer.js', headers: { cookie } })).statusCode;
      expect(await get()).toBe(200);
      await one.inject({ method: 'POST', url: '/rest/$directory/logout', headers: { cookie } });
      expect(await get()).toBe(401);
    } finally {
      for (const each of servers) await each.close();
      await drop();
    }
  });
});
