import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Client } from '../support/processes/client.js';
import { kill, type ServerProcess, start } from '../support/processes/server-process.js';
import { typeErrors } from '../support/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { itLong } from '../support/long.js';
import { compiledServer, importFrom } from '../support/compiled-server.js';
import { hasPostgres, postgresDatabase } from '../support/postgres.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { blocksOf } from './guides.js';

const cookbook = 'runtime/docs/cookbook.md';
const [modelText = ''] = blocksOf('yaml', cookbook).map(({ text }) => text);

/** The files of the recipes, by the path in the first line of each. */
const written = Object.fromEntries(
  blocksOf('ts', cookbook).map(({ text, line }) => {
    const path = /^\/\/ ((?:src|web|test)\/[\w/.-]+\.ts)\n/.exec(text)?.[1];
    if (path === undefined) throw new Error(`${cookbook}:${String(line)} names no file.`);
    // Code for browsers is compiled with the rest.
    return [path.replace(/^web\//, 'src/web/'), text];
  }),
);

/** A PNG of one pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const issuer = 'https://id.example.com/';
const keys = await generateKeyPair('ES256');

function token(claims: Readonly<Record<string, unknown>>): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(issuer)
    .setAudience('shop')
    .setExpirationTime('5 min')
    .sign(keys.privateKey);
}

/** The sent mails, each with headers and text. */
const mails: string[] = [];

/** A minimal mail server, without TLS and login. */
const mailServer = createTcpServer((socket) => {
  let mail: string | undefined;
  socket.write('220 mail.example.com\r\n');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString();
    for (let end = received.indexOf('\r\n'); end >= 0; end = received.indexOf('\r\n')) {
      const line = received.slice(0, end);
      received = received.slice(end + 2);
      if (mail === undefined) {
        if (line === 'DATA') mail = '';
        socket.write(line === 'DATA' ? '354 go on\r\n' : '250 fine\r\n');
      } else if (line === '.') {
        mails.push(mail);
        mail = undefined;
        socket.write('250 fine\r\n');
      } else {
        mail += `${line}\n`;
      }
    }
  });
  socket.on('error', () => undefined);
});

/** The received requests of webhooks. */
const hooks: { readonly headers: Headers; readonly body: string }[] = [];
const hookSecret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** The receiver of webhooks, the exchange rates, and the keys of the identity provider. */
const services = createServer((request, response) => {
  void (async () => {
    if (request.url === '/jwks') {
      const key = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' };
      response.end(JSON.stringify({ keys: [key] }));
    } else if (request.url === '/hooks') {
      const body = await text(request);
      const headers = new Headers(request.headers as Record<string, string>);
      hooks.push({ headers, body });
      // The first attempt fails.
      response.writeHead(hooks.length === 1 ? 500 : 200).end();
    } else if (request.url === '/rates?currency=DKK') {
      response.end('7.5');
    } else if (request.url === '/rates?currency=broken') {
      response.writeHead(500).end('<html>');
    } else {
      response.writeHead(404).end();
    }
  })();
});

async function portOf(listening: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return (listening.address() as AddressInfo).port;
}

const folder = mkdtempSync(join(packageRoot, '.tmp', 'recipes-'));
let sources: string;
let program: string;
let server: ServerProcess;
let clerk: Client;

const run = promisify(execFile);

function runScript(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const script = join(program, `dist/src/scripts/${name}.js`);
  const env = { PATH: process.env['PATH'], LOG_LEVEL: 'error', ...environment };
  return run(process.execPath, [script, ...args], { cwd: folder, env });
}

beforeAll(async () => {
  sources = writeServer(modelOf(modelText), written);
  program = compiledServer(sources);
  const [mailPort, servicePort] = await Promise.all([portOf(mailServer), portOf(services)]);
  await runScript('seed', [], { ADMIN_PASSWORD: 'secret' });
  const environment = {
    SMTP_URL: `smtp://127.0.0.1:${String(mailPort)}`,
    RATES_URL: `http://127.0.0.1:${String(servicePort)}`,
    TOKEN_KEYS_URL: `http://127.0.0.1:${String(servicePort)}/jwks`,
    WEBHOOK_URL: `http://127.0.0.1:${String(servicePort)}/hooks`,
    WEBHOOK_SECRET: hookSecret,
    TOKEN_ISSUER: issuer,
    TOKEN_AUDIENCE: 'shop',
    TRUST_PROXY: '1',
  };
  server = await start(join(program, 'dist/src/main.js'), { folder, environment });
  clerk = new Client(server.origin);
  await clerk.post('/rest/$directory/login', ['admin', 'secret']);
  const customers = [
    { number: 'A1', name: 'Ada', email: 'ada@example.com' },
    { number: 'B2', name: 'Bo', email: 'bo@example.com' },
  ];
  await clerk.post('/rest/Customer?$method=update', customers);
  const orders = [
    { customer: 1, product: 1, euros: 49 },
    { customer: 1, product: 2, euros: 51 },
    { customer: 2, product: 2, euros: 320 },
  ];
  await clerk.post('/rest/Order?$method=update', orders);
});

afterAll(async () => {
  await kill(server);
  mailServer.close();
  services.closeAllConnections();
  services.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The requests of a page of the same site, by a user who is logged in. */
async function inBrowser<T>(work: () => Promise<T>): Promise<T> {
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => {
    const headers = { cookie: clerk.cookie ?? '', origin: server.origin };
    // The client of the test uses absolute URLs.
    const address = url.startsWith('/') ? server.origin + url : url;
    return fetch(address, { ...init, headers });
  });
  try {
    return await work();
  } finally {
    vi.unstubAllGlobals();
  }
}

async function withToken(path: string, claims: Readonly<Record<string, unknown>>) {
  const authorization = `Bearer ${await token(claims)}`;
  const response = await fetch(server.origin + path, { headers: { authorization } });
  return { status: response.status, body: (await response.json()) as { __COUNT?: number } };
}

describe('The cookbook', () => {
  itLong('has code that compiles in the server of its model', async () => {
    expect(Object.keys(written).length).toBeGreaterThan(14);
    const typed = join(folder, 'typed');
    cpSync(writeServer(modelOf(modelText), {}, await typedRuntime()), typed, { recursive: true });
    for (const [path, text] of Object.entries(written)) {
      mkdirSync(dirname(join(typed, path)), { recursive: true });
      writeFileSync(join(typed, path), text);
    }
    const isRecipe = (file: string): boolean => relative(typed, file) in written;
    expect(typeErrors(typed, {}, isRecipe)).toEqual([]);
  });

  it('logs in with accounts of the datastore, which clients cannot see', async () => {
    const { body } = await clerk.get<object>('/rest/$directory/currentUser');
    expect(body).toMatchObject({ result: { userName: 'admin' } });
    const other = new Client(server.origin);
    expect((await other.post('/rest/$directory/login', ['admin', 'wrong'])).status).toBe(401);
    expect((await other.post('/rest/$directory/login', ['nobody', 'secret'])).status).toBe(401);
    expect((await clerk.get('/rest/Account')).status).toBe(404);
  });

  itLong('lets customers log in by tokens, and shows them their own orders', async () => {
    const ada = { email: 'ada@example.com', email_verified: true };
    expect(await withToken('/rest/Order', ada)).toMatchObject({
      status: 200,
      body: { __COUNT: 2 },
    });
    expect((await withToken('/rest/Order(3)', ada)).status).toBe(404);
    expect((await withToken('/rest/Customer', ada)).status).toBe(403);
    expect((await withToken('/rest/Order', { ...ada, email_verified: false })).status).toBe(401);
    expect((await clerk.get('/rest/Order')).body.__COUNT).toBe(3);
  });

  it('keeps tenants apart', async () => {
    const test = join(program, 'dist/test/tenants.test.js');
    await run(process.execPath, ['--test', test], { cwd: program });
  });

  it('sends a mail when an order is shipped, and none when it was shipped before', async () => {
    expect(await clerk.post('/rest/Order(1)/ship', [])).toMatchObject({ status: 200 });
    await expect.poll(() => mails).toEqual([expect.stringContaining('Order 1 is on its way.')]);
    expect(mails[0]).toContain('To: ada@example.com');
    expect(await clerk.post('/rest/Order(1)/ship', [])).toMatchObject({ status: 409 });
    expect(mails).toHaveLength(1);
  });

  it('sends a signed webhook when an order is shipped, again after a failure', async () => {
    await expect.poll(() => hooks.length).toBe(2);
    const [failed, sent] = hooks;
    expect(JSON.parse(sent?.body ?? '')).toEqual({ type: 'order.shipped', data: { order: 1 } });
    expect(sent?.headers.get('webhook-id')).toBe(failed?.headers.get('webhook-id'));
    const { isGenuine } = (await importFrom(sources, 'src/webhook-signature')) as {
      isGenuine: (secret: string, headers: Headers, body: string) => boolean;
    };
    const { headers, body } = sent ?? { headers: new Headers(), body: '' };
    expect(isGenuine(hookSecret, headers, body)).toBe(true);
    expect(isGenuine(hookSecret, headers, `${body} `)).toBe(false);
    headers.set('webhook-timestamp', '1700000000');
    expect(isGenuine(hookSecret, headers, body)).toBe(false);
  });

  it('asks another service for a rate', async () => {
    const all = '/rest/Order/totalIn/$entityset/?$filter="customer.number=A1"';
    expect((await clerk.post(all, ['DKK'])).body).toEqual({ result: 750 });
    for (const unknown of ['..', '../jwks', 'XXX']) {
      expect(await clerk.post(all, [unknown])).toMatchObject({
        status: 400,
        body: { __ERROR: [{ errCode: 9102 }] },
      });
    }
    expect(await clerk.post(all, ['broken'])).toMatchObject({ status: 503 });
  });

  it('imports a whole CSV file, or nothing of it', async () => {
    const send = async (body: string, cookie = clerk.cookie ?? '', type = 'text/csv') => {
      const headers = { 'content-type': type, cookie };
      const init = { method: 'POST', headers, body };
      const response = await fetch(`${server.origin}/import/customers`, init);
      return [response.status, await response.json()];
    };
    const rows = 'number,name,email\nA1,"Ada, Countess",ada@example.com\nC3,Cy,\n';
    expect(await send(rows)).toEqual([200, { imported: 2 }]);
    const { body } = await clerk.get('/rest/Customer?$orderby=number&$attributes=name,email');
    expect(body.__ENTITIES).toMatchObject([
      { name: 'Ada, Countess' },
      { name: 'Bo' },
      { name: 'Cy', email: null },
    ]);
    const refused = 'number,name,email\nD4,Di,\nE5,Eve,bo@example.com\n';
    expect(await send(refused)).toMatchObject([422, { line: 3 }]);
    expect((await send('number,name\n"F6'))[0]).toBe(400);
    expect(await send('n,m\nG7,Gil\n')).toMatchObject([422, { line: 2 }]);
    expect(await send('')).toEqual([200, { imported: 0 }]);
    expect((await send('{}', clerk.cookie, 'application/json'))[0]).toBe(415);
    expect((await send('number,name\n"F6', ''))[0]).toBe(401);
    expect((await clerk.get('/rest/Customer')).body.__COUNT).toBe(3);
  });

  it('copies what another system holds, and changes nothing the second time', async () => {
    const rows = 'number,name,email\nB2,Bob,bo@example.com\nA1,"Ada, Countess",ada@example.com\n';
    writeFileSync(join(folder, 'customers.csv'), rows);
    const stored = async (): Promise<readonly unknown[]> => {
      const url = '/rest/Customer?$orderby=number&$attributes=name';
      const { body } = await clerk.get<{
        readonly __ENTITIES: readonly { readonly name: string; readonly __STAMP: number }[];
      }>(url);
      return body.__ENTITIES.map(({ name, __STAMP }) => [name, __STAMP]);
    };
    const before = await stored();
    await runScript('sync-customers', []);
    const after = await stored();
    expect(after).toEqual([before[0], ['Bob', 2], before[2]]);
    await runScript('sync-customers', ['customers.csv']);
    expect(await stored()).toEqual(after);
    const url = '/rest/Customer?$method=update&$upsert=number';
    const sent = [{ number: 'b2', name: 'Bob' }, { name: 'x' }];
    expect((await clerk.post<{ __ENTITIES: unknown }>(url, sent)).body.__ENTITIES).toMatchObject([
      { __KEY: '2' },
      { __STATUS: { success: false } },
    ]);
  });

  it('records changes of products with their users', async () => {
    await clerk.post('/rest/Product?$method=update', { name: 'Chair', euros: 80 });
    await clerk.post('/rest/Product(3)', { __STAMP: 1, euros: 75 });
    await clerk.post('/rest/Product(3)?$method=delete', {});
    const { body } = await clerk.get('/rest/Product(3)/$history');
    expect(body.__ENTITIES).toMatchObject([
      { kind: 'deleted', user: 'admin', before: { name: 'Chair', euros: 75 } },
      { kind: 'changed', user: 'admin', before: { euros: 80 }, after: { euros: 75 } },
      { kind: 'created', user: 'admin', after: { name: 'Chair', euros: 80 } },
    ]);
  });

  it('keeps the total of an invoice when its lines are created, changed, moved and deleted, and reports it', async () => {
    const totals = async (): Promise<readonly unknown[]> => {
      const { body } = await clerk.get('/rest/Invoice?$orderby=number');
      return body.__ENTITIES.map((each) => each['total']);
    };
    const saved = async (path: string, payload: object): Promise<void> => {
      expect(await clerk.post(path, payload)).toMatchObject({ status: 200 });
    };
    await saved('/rest/Invoice?$method=update', [{ number: 'I1' }, { number: 'I2' }]);
    await saved('/rest/InvoiceLine?$method=update', [
      { invoice: 'I1', quantity: 3, price: '0.10' },
      { invoice: 'I1', quantity: 1, price: '1234567.89' },
      { invoice: 'I2', quantity: 2, price: '5.00' },
    ]);
    expect(await totals()).toEqual(['1234568.19', '10.00']);
    await saved('/rest/InvoiceLine?$method=update', { __KEY: 1, __STAMP: 1, quantity: 4 });
    expect(await totals()).toEqual(['1234568.29', '10.00']);
    await saved('/rest/InvoiceLine?$method=update', { __KEY: 2, __STAMP: 1, invoice: 'I2' });
    expect(await totals()).toEqual(['0.40', '1234577.89']);
    await saved('/rest/InvoiceLine(2)?$method=delete', {});
    expect(await totals()).toEqual(['0.40', '10.00']);
    await runScript('report', ['report.csv']);
    expect(readFileSync(join(folder, 'report.csv'), 'utf8')).toBe(
      '"invoice","lines","total"\r\n"I2","1","10.00"\r\n"I1","1","0.40"\r\n',
    );
    expect(await runScript('totals', [])).toMatchObject({
      stdout: expect.stringMatching(
        /^I2 1 10\.00\nI1 1 0\.40\n\d{4}-\d\d Ada, Countess 1 49\n$/,
      ) as string,
    });
    await saved('/rest/InvoiceLine(1)?$method=delete', {});
    expect(await totals()).toEqual(['0.00', '10.00']);
  });

  it('hides a removed customer, and keeps the row', async () => {
    expect(
      await clerk.post('/rest/Customer(3)', { __STAMP: 1, removedAt: '2030-01-01' }),
    ).toMatchObject({ status: 422 });
    const order = { customer: 3, product: 1, euros: 49 };
    await clerk.post('/rest/Order?$method=update', order);
    expect((await clerk.post('/rest/Customer(3)/remove', [])).status).toBe(200);
    expect((await clerk.get('/rest/Order(4)')).body).toMatchObject({ customer: null });
    expect((await clerk.get('/rest/Customer(3)')).status).toBe(404);
    const again = await clerk.post('/rest/Customer?$method=update', { number: 'C3', name: 'Cy' });
    expect(again.status).toBe(409);
    expect((await clerk.post('/rest/Customer(2)?$method=delete', {})).status).not.toBe(200);
    expect((await clerk.get('/rest/Customer(2)')).status).toBe(200);
  });

  it('sends a picture as a web page does', async () => {
    const { setPicture } = (await importFrom(sources, 'src/web/set-picture')) as {
      setPicture: (customer: object, picture: Blob) => Promise<void>;
    };
    const { body } = await clerk.get<{ __STAMP: number; __KEY: string }>('/rest/Customer(1)');
    await inBrowser(() => setPicture(body, new Blob([pixel], { type: 'image/png' })));
    expect(await clerk.bytes('/rest/Customer(1)/picture?$expand=picture')).toEqual(pixel);
    await expect(inBrowser(() => setPicture(body, new Blob([pixel])))).rejects.toThrow(/stamp/);
  });

  it('creates a customer with orders, and shows what is wrong at its field', async () => {
    const { createCustomer } = (await importFrom(sources, 'src/web/new-customer')) as {
      createCustomer: (customer: object, show: (...shown: string[]) => void) => Promise<unknown>;
    };
    const shown: string[] = [];
    const create = (euros: number) =>
      inBrowser(() =>
        createCustomer(
          {
            number: 'N1',
            name: 'Nia',
            orders: [
              { product: 1, euros: 5 },
              { product: 1, euros },
            ],
          },
          (field) => shown.push(field),
        ),
      );
    expect(await create(-1)).toBeUndefined();
    expect(shown).toContain('orders[1].euros');
    const key = await create(1);
    const { body } = await clerk.get(`/rest/Customer(${String(key)})?$expand=orders`);
    expect(body).toMatchObject({ name: 'Nia', orders: { __COUNT: 2 } });
    await clerk.post('/rest/Order?$method=delete&$filter=%22customer.number=N1%22', {});
  });

  it('reads customers with their last orders, and the numbers of these', async () => {
    const { customers } = (await importFrom(sources, 'src/web/customers')) as {
      customers: (least: number) => Promise<
        readonly {
          readonly name: string;
          readonly orders: { readonly __COUNT: number; readonly __ENTITIES: readonly object[] };
        }[]
      >;
    };
    const customer = await clerk.post('/rest/Customer?$method=update', {
      number: 'C77',
      name: 'Zoe',
    });
    const product = await clerk.post('/rest/Product?$method=update', { name: 'Tile', euros: 2 });
    const [owner, sold] = [customer, product].map(({ body }) =>
      Number((body as { readonly __KEY: string }).__KEY),
    );
    const orders = [50, 150, 250, 350, 450].map((euros) => ({
      customer: owner,
      product: sold,
      euros,
    }));
    await clerk.post('/rest/Order?$method=update', orders);
    const found = await inBrowser(() => customers(100));
    expect(found.find(({ name }) => name === 'Zoe')?.orders).toMatchObject({
      __COUNT: 4,
      __ENTITIES: [{ euros: 450 }, { euros: 350 }, { euros: 250 }],
    });
  });

  it('reads all pages, even if entities are created and deleted meanwhile', async () => {
    const many = Array.from({ length: 750 }, (_, index) => ({
      name: `P${String(index)}`,
      euros: 1,
    }));
    await clerk.post('/rest/Product?$method=update', many);
    const { allEntities } = (await importFrom(sources, 'src/web/all-entities')) as {
      allEntities: (dataclass: string, filter: string) => AsyncGenerator<{ name: string }>;
    };
    const names = await inBrowser(async () => {
      const found: string[] = [];
      for await (const { name } of allEntities('Product', 'euros = 1')) {
        if (found.length === 0) {
          await clerk.post(
            `/rest/Product?$method=delete&$filter=${encodeURIComponent('"name = P1"')}`,
            {},
          );
          await clerk.post(
            `/rest/Product?$method=delete&$filter=${encodeURIComponent('"name = P700"')}`,
            {},
          );
          await clerk.post('/rest/Product?$method=update', { name: 'late', euros: 1 });
        }
        found.push(name);
      }
      return found;
    });
    expect(names).toEqual(many.map(({ name }) => name).filter((name) => name !== 'P700'));
  });

  itLong('raises all prices', async () => {
    const url = '/rest/Product?$orderby=ID&$top=1000&$attributes=euros';
    type Prices = { readonly __ENTITIES: readonly { readonly euros: number }[] };
    const prices = async (): Promise<readonly number[]> =>
      (await clerk.get<Prices>(url)).body.__ENTITIES.map(({ euros }) => euros);
    const before = await prices();
    await runScript('raise-prices', ['10']);
    expect(await prices()).toEqual(before.map((each) => Math.max(1, Math.round(each * 1.1))));
    const most = encodeURIComponent(`"euros < 5"`);
    const { status } = await clerk.post(
      `/rest/Product?$method=update&$filter=${most}&$atMost=2000`,
      { euros: 5 },
    );
    expect([status, Math.min(...(await prices()))]).toEqual([200, 5]);
  });

  it('reads all pages in order without a set, even if entities are created and deleted', async () => {
    const { inOrder } = (await importFrom(sources, 'src/web/products-in-order')) as {
      inOrder: (dataclass: string, order: string) => AsyncGenerator<{ name: string }>;
    };
    const names = await inBrowser(async () => {
      const found: string[] = [];
      for await (const { name } of inOrder('Product', 'name desc')) {
        if (found.length === 0) {
          const gone = encodeURIComponent('"name = P10"');
          await clerk.post(`/rest/Product?$method=delete&$filter=${gone}`, {});
          await clerk.post('/rest/Product?$method=update', { name: 'Zzz', euros: 3 });
        }
        found.push(name);
      }
      return found;
    });
    const numbers = names.filter((name) => /^P\d+$/.test(name));
    expect(numbers).toHaveLength(748 - 1);
    expect(numbers).toEqual([...new Set(numbers)].sort().reverse());
    expect(names).not.toContain('Zzz');
  });

  it('repeats a change when another one was faster', async () => {
    const { changeEntity } = (await importFrom(sources, 'src/web/change-entity')) as {
      changeEntity: (url: string, change: (entity: { euros: number }) => object) => Promise<void>;
    };
    const raise = (url: string) => changeEntity(url, ({ euros }) => ({ euros: euros + 1 }));
    await inBrowser(async () => {
      await Promise.all([
        raise('/rest/Order(3)'),
        raise('/rest/Order(3)'),
        raise('/rest/Order(3)'),
      ]);
      await expect(changeEntity('/rest/Order(3)', () => ({ euros: -1 }))).rejects.toThrow(/euros/);
    });
    expect((await clerk.get('/rest/Order(3)')).body).toMatchObject({ euros: 323 });
  });

  it('serves web pages behind a proxy that terminates TLS', async () => {
    const log = async (headers: Readonly<Record<string, string>>) => {
      const body = '["admin","secret"]';
      const url = `${server.origin}/rest/$directory/login`;
      return fetch(url, { method: 'POST', body, headers });
    };
    const response = await log({ origin: server.origin, 'x-forwarded-proto': 'https' });
    expect(response.headers.get('set-cookie')).toContain('; Secure');
    expect((await log({ origin: 'https://other.example.com' })).status).toBe(403);
  });

  itLong('runs scripts next to the server, any number of times', async () => {
    await runScript('seed', [], { MIGRATE: 'check' });
    const { body } = await clerk.get('/rest/Product?$filter="name=Lamp"');
    expect(body.__ENTITIES).toMatchObject([{ euros: 49 }]);
  });

  itLong('backs up the database of a running server', async () => {
    await runScript('backup', ['data.sqlite', 'backup.sqlite']);
    const restored = join(folder, 'restored');
    mkdirSync(restored);
    cpSync(join(folder, 'backup.sqlite'), join(restored, 'data.sqlite'));
    const other = await start(join(program, 'dist/src/main.js'), { folder: restored });
    try {
      const client = new Client(other.origin);
      await client.post('/rest/$directory/login', ['admin', 'secret']);
      expect((await client.get('/rest/Order(3)')).body).toEqual(
        (await clerk.get('/rest/Order(3)')).body,
      );
    } finally {
      await kill(other);
    }
  });

  it.skipIf(!hasPostgres)('moves the database to PostgreSQL', async () => {
    const { url, drop } = await postgresDatabase();
    await runScript('backup', ['data.sqlite', 'stopped.sqlite']);
    await runScript('copy-to-postgres', ['stopped.sqlite', url]);
    const environment = { DATABASE_URL: url };
    const other = await start(join(program, 'dist/src/main.js'), { folder, environment });
    try {
      const client = new Client(other.origin);
      await client.post('/rest/$directory/login', ['admin', 'secret']);
      for (const path of ['/rest/Order?$orderby=ID', '/rest/Customer?$orderby=ID']) {
        const there = await client.get(path);
        const here = await clerk.get(path);
        expect(there.body.__ENTITIES.length).toBeGreaterThan(1);
        expect(there.body.__ENTITIES).toEqual(here.body.__ENTITIES);
      }
      expect(await client.bytes('/rest/Customer(1)/picture?$expand=picture')).toEqual(pixel);
      const added = { customer: 2, product: 1, euros: 1 };
      const saved = await client.post('/rest/Order?$method=update', added);
      expect(saved.body).toMatchObject({ __KEY: '12' });
    } finally {
      await kill(other);
      await drop();
    }
  });
});
