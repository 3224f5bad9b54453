import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cookiePattern } from '../../runtime/http/request-sessions.js';
import { Client } from '../support/cookies.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';

const model = `drs: 1
name: notes
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
roles:
  restrictedByDefault: false
  privileges: [{ privilege: write, includes: [] }]
  permissions:
    allowed: [{ applyTo: Note, type: dataclass, create: [write], update: [write], drop: [write] }]
`;
const name = 'DRSID_notes';
const token = '0123456789ABCDEF0123456789ABCDEF';

let app: FastifyInstance;

beforeAll(async () => {
  app = await rolesServerOf(model);
});
afterAll(() => app.close());

async function userWith(cookie: string): Promise<unknown> {
  const headers = { cookie };
  const response = await app.inject({ url: '/rest/$directory/currentUser', headers });
  expect(response.statusCode).toBe(200);
  return response.json<{ result: unknown }>().result;
}

describe('A cookie', () => {
  const pattern = cookiePattern(name);

  it.each([
    [`${name}=${token}`, token],
    [`a=b; ${name}=${token}; c=d`, token],
    [`a=b;${name}="${token}"`, token],
    [`x${name}=${token}`, undefined],
    [`${name}x=${token}`, undefined],
    [`a=${name}=${token}`, undefined],
    [`${name}=${token}0`, undefined],
    [`${name}=${token.toLowerCase()}`, undefined],
    [`${name}=`, undefined],
    [name, undefined],
    ['', undefined],
    [`${name}=x; ${name}=${token}`, token],
    [`${name}=${token}; ${name}=${'B'.repeat(32)}`, token],
    [`${name}=${token}\u0000`, undefined],
  ])('is found in a header of any form: %j', (header, found) => {
    expect(pattern.exec(header)?.[1]).toBe(found);
  });

  it('that is found has 32 digits, and long headers are read in linear time', () => {
    const part = fc.constantFrom(name, '=', ';', ' ', '"', token, 'x', `${name}=`);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const found = pattern.exec(parts.join(''))?.[1];
        expect(found ?? token).toMatch(/^[0-9A-F]{32}$/);
      }),
    );
    // Quadratic time would take minutes.
    for (const end of ['', ';', '; ', ' ']) {
      expect(pattern.exec(`${name}=${end}`.repeat(100_000))?.[1]).toBeUndefined();
    }
  });

  it.each([
    '__proto__',
    'constructor',
    'toString',
    token,
    '%00',
    "' or 1=1 --",
    '../../etc',
    'x'.repeat(8000),
  ])('of no session grants nothing: %s', async (value) => {
    expect(await userWith(`${name}=${value}`)).toBeNull();
  });

  it('has the name of SESSION_COOKIE, so that two servers of a host log nobody out', async () => {
    const servers: FastifyInstance[] = [];
    const jar = new Map<string, string>();
    const ask = async (
      server: FastifyInstance,
      url: string,
      payload?: string,
    ): Promise<unknown> => {
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
      const answer = await server.inject({
        method: payload === undefined ? 'GET' : 'POST',
        url: `/rest/$directory/${url}`,
        headers: { cookie },
        ...(payload === undefined ? {} : { payload }),
      });
      for (const each of answer.cookies) jar.set(each.name, each.value);
      expect(answer.cookies.every(({ secure }) => secure)).toBe(true);
      return answer.json<{ result: unknown }>().result;
    };
    try {
      for (const SESSION_COOKIE of ['__Host-one.id', '__Secure-two']) {
        servers.push(await rolesServerOf(model, { environment: { SESSION_COOKIE } }));
      }
      const login = JSON.stringify(['mia', '{"privileges":["write"]}']);
      for (const server of servers) expect(await ask(server, 'login', login)).toBe(true);
      expect([...jar.keys()]).toEqual(['__Host-one.id', '__Secure-two']);
      for (const server of servers) {
        expect(await ask(server, 'currentUser')).toMatchObject({ userName: 'mia' });
      }
      const document = (await servers[0]?.inject('/rest/$openapi'))?.json<object>();
      expect(document).toMatchObject({
        components: { securitySchemes: { session: { name: '__Host-one.id' } } },
      });
      const wrong = { environment: { SESSION_COOKIE: 'a b' } };
      await expect(rolesServerOf(model, wrong)).rejects.toThrow(
        'SESSION_COOKIE is "a b"; it must be the name of a cookie',
      );
    } finally {
      for (const server of servers) await server.close();
    }
  });

  it('that a client chose is never used for a session', async () => {
    const client = new Client(app);
    client.cookie = `${name}=${token}`;
    await client.post('/rest/$directory/login', ['mia', '{"privileges":["write"]}']);
    expect(client.cookie).toMatch(new RegExp(`^${name}=[0-9A-F]{32}$`));
    expect(client.cookie).not.toContain(token);
    expect(await userWith(`${name}=${token}`)).toBeNull();
  });

  it('of a session is not its ID, and no answer contains it', async () => {
    const client = await loggedIn(app, { privileges: ['write'] });
    const secret = client.cookie?.split('=')[1] ?? '';
    const { body } = await client.get('/rest/$info');
    const { sessionInfo }: { sessionInfo: { sessionID: string }[] } = JSON.parse(body) as never;
    expect(body).not.toContain(secret);
    expect(await userWith(`${name}=${sessionInfo[0]?.sessionID ?? ''}`)).toBeNull();
    const bearer = { cookie: '', authorization: `Bearer ${secret}` };
    const response = await app.inject({ url: '/rest/$directory/currentUser', headers: bearer });
    expect(response.body).not.toContain('mia');
  });
});

describe('A login', () => {
  const logins = [
    '',
    '[]',
    '[null,null]',
    '[{},[]]',
    '["a"]',
    '[["a"],"b"]',
    '{}',
    '{"user":{"$ne":null},"password":{"$ne":null}}',
    '{"__proto__":{"user":"mia"},"password":"x"}',
    '{"user":"a","password":"{}","seconds":-1}',
    '{"user":"a","password":"{}","seconds":1e400}',
    '{"user":"a","password":"{}","seconds":"60"}',
    '["a","{}",1.5]',
    '"mia"',
    'null',
    '\ud800',
    `["${'a'.repeat(100_000)}","b"]`,
    '[["a","b"]]',
  ];

  it.each(logins)('with a wrong body is refused, never with 500: %.60s', async (payload) => {
    const url = '/rest/$directory/login';
    const response = await app.inject({ method: 'POST', url, payload });
    expect([400, 401]).toContain(response.statusCode);
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  it('fails with headers that are not text', async () => {
    const url = '/rest/$directory/login';
    const headers = { 'username-4D': ['a', 'b'], 'password-4D': ['{', '}'] };
    const response = await app.inject({ method: 'POST', url, headers });
    expect(response.statusCode).not.toBe(200);
  });

  it.each(['/rest/$directory/nothing', '/rest/$directory', '/rest/$directory/login/x'])(
    'exists only at its address: %s',
    async (url) => {
      expect((await app.inject({ url })).statusCode).toBe(404);
    },
  );

  it('refuses parameters that might mean something', async () => {
    const url = '/rest/$directory/currentUser?$filter=x';
    expect((await app.inject({ url })).statusCode).toBe(400);
  });
});

it('Hundreds of clients without cookies create no session by reading', async () => {
  for (let i = 0; i < 200; i += 1) {
    const response = await app.inject({
      url:
        ['/rest/Note', '/rest/$info', '/rest/$directory/currentUser', '/rest/$catalog'][i % 4] ??
        '',
      headers: { cookie: `${name}=${String(i).padStart(32, '0')}` },
    });
    expect(response.headers['set-cookie']).toBeUndefined();
  }
});
