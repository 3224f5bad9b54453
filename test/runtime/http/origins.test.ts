import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fastifyCors } from '@fastify/cors';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { SignJWT } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { rolesServerOf } from '../../support/roles-server.js';
import { serverOf } from '../../support/server.js';

const front = 'https://app.example.com';
const sibling = 'https://www.api.test';
const other = 'https://evil.test';
const secret = 'a secret of more than thirty-two characters';

const dataclasses = `
drs: 1
name: staff
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
    functions:
      dataclass: { hello: { exposed: true, returns: string } }
`;
const closed = `${dataclasses}
roles:
  restrictedByDefault: false
  forceLogin: true
  privileges: [{ privilege: edit }]
  permissions:
    allowed: [{ applyTo: Company, type: dataclass, create: [edit], drop: [nobody] }]
`.replace('[nobody]', '[edit]');

const login = `
export async function login(user: string, password: string) {
  return { userName: user, privileges: [password] };
}
export async function loginWithToken({ sub }: { sub?: string }) {
  return { userName: sub ?? '', privileges: ['edit'] };
}
`;
const hello = `
import { CompanyBase } from '../generated/api.js';
export class Company extends CompanyBase { hello(): string { return 'hello'; } }
`;

let app: FastifyInstance;

afterEach(() => app.close());

async function open(environment: Record<string, string> = {}): Promise<void> {
  app = await serverOf(dataclasses, { environment }, { 'src/classes/Company.ts': hello });
}

async function openClosed(environment: Record<string, string> = {}): Promise<void> {
  const files = { 'src/classes/Company.ts': hello, 'src/login.ts': login };
  app = await serverOf(closed, { environment: { TOKEN_KEY: secret, ...environment } }, files);
}

/** A request as a browser sends it for a page of another site. */
function send(
  method: 'GET' | 'POST' | 'PUT' | 'OPTIONS',
  url: string,
  origin: string | undefined,
  more: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): ReturnType<Client['get']> {
  const request: InjectOptions = {
    method,
    url,
    headers: {
      host: 'api.test',
      'sec-fetch-site': 'cross-site',
      ...(origin === undefined ? {} : { origin }),
      ...more.headers,
    },
    ...(more.body === undefined ? {} : { payload: JSON.stringify(more.body) }),
  };
  return app.inject(request);
}

function preflight(url: string, origin: string, method = 'POST'): ReturnType<typeof send> {
  return send('OPTIONS', url, origin, {
    headers: {
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  });
}

const addresses = [
  '/rest/Company',
  '/rest/Company(1)',
  '/rest/Company/hello',
  '/rest/Company/$entityset/0A',
  '/rest/$catalog/$all',
  '/rest/$directory/login',
  '/rest/$info',
  '/rest/$upload',
  '/rest/Nothing',
  '/health',
  '/own',
  '/nothing',
];

/** Routes as a user writes them in `main.ts`. */
function addOwnRoutes(to: FastifyInstance): void {
  const schema = { querystring: { type: 'object', properties: { size: { type: 'integer' } } } };
  to.get('/own', { schema }, () => ({ own: true }));
  to.put('/own', (request) => ({ user: request.session.userName }));
  to.get('/broken', () => {
    throw new Error('broken');
  });
}

const bearer = (): Promise<string> =>
  new SignJWT({ sub: 'mia' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));

describe('A page of an origin that ORIGINS lists', () => {
  it('gets an answer to its preflight request at every address, even if a login is required', async () => {
    await openClosed({ ORIGINS: `${front}, ${sibling}` });
    for (const url of addresses) {
      const { statusCode, headers, body } = await preflight(url, front);
      expect([statusCode, body], url).toEqual([204, '']);
      expect(headers).toMatchObject({
        'access-control-allow-origin': front,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-max-age': '600',
      });
      expect(headers.vary).toContain('Origin');
    }
  });

  it('can read, write, call functions and log in', async () => {
    await open({ ORIGINS: front });
    const made = await send('POST', '/rest/Company?$method=update', front, { body: { name: 'A' } });
    expect(made.statusCode, made.body).toBe(200);
    const read = await send('GET', '/rest/Company(1)', front);
    expect(read.json()).toMatchObject({ name: 'A' });
    const called = await send('POST', '/rest/Company/hello', front, { body: [] });
    expect(called.json()).toEqual({ result: 'hello' });
    for (const { headers } of [made, read, called]) {
      expect(headers['access-control-allow-origin']).toBe(front);
      expect(headers['access-control-expose-headers']).toContain('Retry-After');
      expect(headers.vary).toContain('Origin');
    }
  });

  it('of the same site has a session by its cookie', async () => {
    await openClosed({ ORIGINS: sibling });
    const sameSite = { 'sec-fetch-site': 'same-site' };
    const sent = { body: ['mia', 'edit'], headers: sameSite };
    const isIn = await send('POST', '/rest/$directory/login', sibling, sent);
    expect(isIn.statusCode, isIn.body).toBe(200);
    const cookie = String(isIn.headers['set-cookie']).split(';')[0] ?? '';
    const made = await send('POST', '/rest/Company?$method=update', sibling, {
      body: { name: 'A' },
      headers: { ...sameSite, cookie },
    });
    expect(made.statusCode, made.body).toBe(200);
    const locked = await send('GET', '/rest/Company(1)?$lock=true', sibling, {
      headers: { ...sameSite, cookie },
    });
    expect(locked.statusCode, locked.body).toBe(200);
    const out = await send('GET', '/rest/$directory/logout', sibling, {
      headers: { ...sameSite, cookie },
    });
    expect(out.json()).toEqual({ result: true });
  });

  it('of another site gets a cookie that browsers send for it', async () => {
    await openClosed({ ORIGINS: front });
    const cookieFor = async (origin: string, site: string): Promise<string> => {
      const headers = { 'sec-fetch-site': site };
      const answer = await send('POST', '/rest/$directory/login', origin, {
        body: ['mia', 'edit'],
        headers,
      });
      return String(answer.headers['set-cookie'] ?? answer.statusCode).replace(
        /=[0-9A-F]{32};/,
        '=ID;',
      );
    };
    expect(await cookieFor(front, 'cross-site')).toBe(
      'DRSID_staff=ID; Path=/; HttpOnly; SameSite=None; Secure',
    );
    expect(await cookieFor(front, 'same-site')).toBe(
      'DRSID_staff=ID; Path=/; HttpOnly; SameSite=Lax',
    );
    expect(await cookieFor('http://api.test', 'same-origin')).toBe(
      'DRSID_staff=ID; Path=/; HttpOnly; SameSite=Lax',
    );
    expect(await cookieFor(other, 'cross-site')).toBe('403');
  });

  it('can read why a request is refused', async () => {
    await openClosed({
      ORIGINS: front,
      BODY_SIZE: '1000',
      QUOTAS: '{"nbRequestsPerMinPerSession":100000,"nbRequestsPerMin":9}',
    });
    const token = { authorization: `Bearer ${await bearer()}` };
    const refused = {
      401: await send('GET', '/rest/Company', front),
      404: await send('GET', '/rest/Nothing', front, { headers: token }),
      405: await send('POST', '/rest/$catalog', front, { headers: token }),
      413: await send('POST', '/rest/Company?$method=update', front, {
        body: 'x'.repeat(2000),
        headers: token,
      }),
      400: await send('GET', '/rest/Company?$filter=(', front, { headers: token }),
      414: await send('GET', `/rest/Company?$filter=${'x'.repeat(100_000)}`, front, {
        headers: token,
      }),
    };
    for (const [status, { statusCode, headers, body }] of Object.entries(refused)) {
      expect(statusCode, body).toBe(Number(status));
      expect(headers['access-control-allow-origin'], status).toBe(front);
    }
    const many = await Promise.all(
      Array.from({ length: 9 }, () => send('GET', '/rest/$catalog', front)),
    );
    const last = many.at(-1);
    expect(last?.statusCode).toBe(429);
    expect(last?.headers['access-control-allow-origin']).toBe(front);
  });

  it('can read all answers of own routes, of /health and outside of /rest', async () => {
    await open({ ORIGINS: front });
    addOwnRoutes(app);
    const asked = await preflight('/own', front, 'PUT');
    expect(asked.statusCode).toBe(204);
    expect(asked.headers['access-control-allow-methods']).toBe('PUT');
    const answers = [
      [200, await send('GET', '/own', front)],
      [200, await send('PUT', '/own', front)],
      [400, await send('GET', '/own?size=x', front)],
      [404, await send('GET', '/nothing', front)],
      [404, await send('POST', '/own', front)],
      [400, await send('GET', '/%zz', front)],
      [500, await send('GET', '/broken', front)],
      [200, await send('GET', '/health', front)],
      [200, await send('GET', '/health/ready', front)],
      // Only a preflight is answered for the route.
      [404, await send('OPTIONS', '/own', front)],
    ] as const;
    for (const [status, { statusCode, headers, body }] of answers) {
      expect(statusCode, body).toBe(status);
      expect(headers).toMatchObject({
        'access-control-allow-origin': front,
        'access-control-allow-credentials': 'true',
        vary: 'Origin',
      });
    }
  });

  it('can read why Node refuses what is malformed, too long, or does not arrive in time', async () => {
    await open({ ORIGINS: `${front}, ${sibling}`, REQUEST_TIMEOUT: '1' });
    await app.listen({ port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const from = `Host: api\r\nOrigin: ${front}\r\n`;
    const list = Array.from({ length: 20_000 }, (_, at) => at).join();
    for (const [status, text] of [
      [400, `GET /rest/Company HTTP/1.1\r\n${from}Content-Length: x\r\n\r\n`],
      [431, `GET /rest/Company?$filter=ID%20in[${list}] HTTP/1.1\r\n${from}\r\n`],
      [408, `POST /rest/Company HTTP/1.1\r\n${from}Content-Length: 9\r\n\r\n{`],
    ] as const) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      let answer = '';
      socket.on('data', (data) => (answer += data.toString()));
      socket.write(text);
      await once(socket, 'close');
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toContain(`access-control-allow-origin: ${front}`);
    }
  });

  it('can read that the server is too busy', async () => {
    await open({
      ORIGINS: front,
      BODY_SIZE: '100000',
      UPLOAD_SIZE: '100000',
      TRANSFER_MEMORY: '100000',
    });
    await app.listen({ port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const stalled = connect(port, '127.0.0.1');
    await once(stalled, 'connect');
    stalled.write(
      `POST /rest/Company?$method=update HTTP/1.1\r\nHost: api\r\nContent-Length: 99000\r\n\r\n${'x'.repeat(90_000)}`,
    );
    const url = `http://127.0.0.1:${port}/rest/Company?$method=update`;
    const post = (): Promise<Response> =>
      fetch(url, { method: 'POST', headers: { origin: front }, body: 'x'.repeat(90_000) });
    await expect.poll(async () => (await post()).status).toBe(503);
    const { headers } = await post();
    stalled.destroy();
    expect(headers.get('access-control-allow-origin')).toBe(front);
    expect(headers.get('retry-after')).not.toBeNull();
  });
});

describe('A page of another origin', () => {
  it.each([{}, { ORIGINS: front }])('gets no permission, with %j', async (environment) => {
    await open(environment);
    addOwnRoutes(app);
    for (const url of addresses) {
      const { statusCode, headers } = await preflight(url, other);
      expect(statusCode, url).toBeGreaterThanOrEqual(400);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
    for (const origin of [other, 'null', `${front}.evil.test`, 'http://app.example.com']) {
      for (const headers of [{}, { cookie: 'DRSID_staff=0A' }, { authorization: 'Basic bWlh' }]) {
        const made = await send('POST', '/rest/Company?$method=update', origin, {
          body: { name: 'A' },
          headers: headers,
        });
        expect(made.statusCode, origin).toBe(403);
        expect(made.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
    const read = await send('GET', '/rest/Company', other);
    expect(read.json()).toMatchObject({ __COUNT: 0 });
    const own = await send('PUT', '/own', other);
    expect(own.statusCode, own.body).toBe(403);
    for (const url of ['/rest/Company', '/own', '/own?size=x', '/nothing', '/%zz', '/health']) {
      const { headers } = await send('GET', url, other);
      expect(headers['access-control-allow-origin'], url).toBeUndefined();
    }
  });

  it.each(['in a scope of its own', 'for the whole server'])(
    'reads what a plugin @fastify/cors of the user allows, %s',
    async (where) => {
      await open({ ORIGINS: front });
      const allowed = { origin: [other], methods: ['GET', 'PUT'] };
      if (where === 'for the whole server') {
        await app.register(fastifyCors, allowed);
        addOwnRoutes(app);
      } else {
        await app.register(async (scope) => {
          await scope.register(fastifyCors, allowed);
          addOwnRoutes(scope);
        });
      }
      const asked = await preflight('/own', other, 'PUT');
      expect([asked.statusCode, asked.headers['access-control-allow-methods']]).toEqual([
        204,
        'GET, PUT',
      ]);
      const read = await send('GET', '/own', other);
      expect(read.headers['access-control-allow-origin']).toBe(other);
      expect(read.headers.vary).toContain('Origin');
      // It opens no sessions: ORIGINS does not list the origin.
      const changed = await send('PUT', '/own', other, { headers: { cookie: 'DRSID_staff=0A' } });
      expect(changed.statusCode, changed.body).toBe(403);
      expect((await preflight('/rest/Company', front)).statusCode).toBe(204);
      const data = await send('GET', '/rest/Company', front);
      expect(data.headers['access-control-allow-origin']).toBe(front);
    },
  );

  it('cannot make a change with a cookie, not even together with a token', async () => {
    await openClosed({ ORIGINS: front });
    const authorization = `Bearer ${await bearer()}`;
    const url = '/rest/Company?$method=update';
    const change = (headers: Record<string, string>): ReturnType<typeof send> =>
      send('POST', url, other, { body: { name: 'A' }, headers });
    expect((await change({ authorization, cookie: 'DRSID_staff=0A' })).statusCode).toBe(403);
    const withToken = await change({ authorization });
    expect(withToken.statusCode, withToken.body).toBe(200);
    // It may write, like any client with a token: the preflight of a page in a browser was refused
    // before.
    expect(withToken.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('Origins', () => {
  it('of the model are used unless the environment replaces them', async () => {
    const model = dataclasses.replace('name: staff', `name: staff\norigins: ['${front}']`);
    const files = { 'src/classes/Company.ts': hello };
    for (const [environment, allowed] of [
      [{}, [front]],
      [{ ORIGINS: '' }, [front]],
      [
        { ORIGINS: `${other},http://localhost:5173,capacitor://localhost` },
        [other, 'http://localhost:5173', 'capacitor://localhost'],
      ],
    ] as const) {
      app = await serverOf(model, { environment }, files);
      for (const origin of [front, other, 'http://localhost:5173', 'capacitor://localhost']) {
        const { headers } = await send('GET', '/rest/Company', origin);
        const expected = (allowed as readonly string[]).includes(origin) ? origin : undefined;
        expect(headers['access-control-allow-origin']).toBe(expected);
      }
      await app.close();
    }
  });

  it.each([
    '*',
    'https://*.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://App.example.com',
    'https://app.example.com:443',
    'https://mia@app.example.com',
    'app.example.com',
    'null',
    `${front},`,
  ])('that are invalid stop the start: %s', async (ORIGINS) => {
    await open();
    await expect(rolesServerOf(closed, { environment: { ORIGINS } })).rejects.toThrow(
      /^ORIGINS is ".*"; it must be origins/,
    );
  });
});
