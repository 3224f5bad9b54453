import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { type SessionServer, sessionServer } from './session-server.js';

let server: SessionServer;
let client: Client;

async function start(options: Parameters<typeof sessionServer>[0] = {}): Promise<void> {
  server = await sessionServer(options);
  client = new Client(server.app);
}

beforeEach(() => start());
afterEach(() => server.app.close());

const login = '/rest/$directory/login';

function run(name: string, by = client): ReturnType<Client['post']> {
  return by.post(`/rest/work/${name}`);
}

async function currentUser(by = client): Promise<unknown> {
  return (await by.get('/rest/$directory/currentUser')).json<{ result: unknown }>().result;
}

/** The IDs of all sessions. */
async function alive(): Promise<readonly string[]> {
  return (await server.sessions.sessions.store.list()).map(({ id }) => id);
}

describe('A guest', () => {
  it('has no state and gets no cookie', async () => {
    server.work['look'] = (session) => {
      session.storage.get('x');
      session.clearPrivileges();
      session.setPrivileges('unknown');
      return [
        session.id,
        session.userName,
        session.isGuest,
        [...session.privileges],
        session.storage.size,
        session.quotas.nbEntitySets,
        ['guest', 'GUEST', 'none', 'view'].map((name) => session.hasPrivilege(name)),
      ];
    };
    const response = await run('look');
    expect(response.json()).toEqual({
      result: [null, '', true, [], 0, null, [true, true, false, false]],
    });
    expect(response.headers['set-cookie']).toBeUndefined();
    expect(await alive()).toEqual([]);
  });

  it('gets a session when something needs one, even in the middle of a request', async () => {
    server.work['late'] = async (session) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      session.storage.set('seen', 1);
      return session.isGuest;
    };
    server.work['look'] = (session) => session.storage.get('seen');
    const response = await run('late');
    expect(response.json()).toEqual({ result: true });
    expect(response.headers['set-cookie']).toMatch(
      /^DRSID_staff=[0-9A-F]{32}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect((await run('look')).json()).toEqual({ result: 1 });
    expect((await run('look', new Client(server.app))).json()).toEqual({ result: null });
  });

  it('gets the cookie also with an error', async () => {
    server.work['fail'] = (session) => {
      session.keep();
      throw new Error('after all');
    };
    const response = await run('fail');
    expect(response.statusCode).toBe(500);
    expect(response.headers['set-cookie']).toMatch(/^DRSID_staff=/);
  });

  it('has one session, however often one is needed', async () => {
    server.work['keep'] = (session) => [session.keep(), session.keep(), session.id];
    const { result } = (await run('keep')).json<{ result: string[] }>();
    expect(new Set(result).size).toBe(1);
    expect(await alive()).toEqual([result[0]]);
  });
});

it.each([
  ['https behind a proxy', { 'x-forwarded-proto': 'https,http' }, true],
  ['http behind a proxy', { 'x-forwarded-proto': 'http' }, false],
  ['nothing known', {}, false],
])('The cookie has the attribute Secure, or not: %s', async (_name, headers, isSecure) => {
  server.work['keep'] = (session) => session.keep();
  const response = await client.post('/rest/work/keep', undefined, headers);
  expect(String(response.headers['set-cookie']).includes('; Secure')).toBe(isSecure);
});

describe('A login', () => {
  it.each([
    ['a list', ['mia', 'right', 60], {}],
    ['a list without time', ['MIA', 'right'], {}],
    ['an object', { user: 'mia', password: 'right' }, {}],
    ['headers', undefined, { 'username-4D': 'mia', 'password-4D': 'right' }],
  ])('works with %s', async (_name, body, headers) => {
    const response = await client.post(login, body, headers);
    expect([response.statusCode, response.json()]).toEqual([200, { result: true }]);
    expect(await currentUser()).toEqual({ userName: 'mia', fullName: 'mia', ID: 'mia' });
    const belongs = await client.post('/rest/$directory/currentUserBelongsTo', ['x', 'VIEW']);
    expect(belongs.json()).toEqual({ result: true });
  });

  it('that fails creates no session', async () => {
    for (const body of [
      ['mia', 'wrong'],
      ['eve', 'right'],
      ['', ''],
    ]) {
      const response = await client.post(login, body);
      expect([response.statusCode, response.json()]).toEqual([401, { result: false }]);
      expect(response.headers['set-cookie']).toBeUndefined();
    }
    expect(await alive()).toEqual([]);
  });

  it('creates another session, which takes over what the guest stored', async () => {
    server.work['keep'] = (session) => {
      session.storage.set('basket', session.storage.get('basket') ?? 'full');
      session.quotas.nbEntitySets = 7;
      return [session.keep(), session.storage.get('basket'), session.quotas.nbEntitySets];
    };
    const { result: guest } = (await run('keep')).json<{ result: [string] }>();
    const before = client.cookie;
    await client.post(login, ['mia', 'right']);
    expect(client.cookie).not.toBe(before);
    expect(server.ended).toEqual([guest[0]]);
    server.work['look'] = (session) => [
      session.id,
      session.storage.get('basket'),
      session.quotas.nbEntitySets,
    ];
    const { result: user } = (await run('look')).json<{ result: [string] }>();
    expect(user).toEqual([expect.not.stringMatching(guest[0]), 'full', 7]);
    expect(await alive()).toEqual([user[0]]);
    expect(server.counts()).toEqual({ guests: 0, users: 1 });
    const thief = new Client(server.app);
    thief.cookie = before;
    expect(await currentUser(thief)).toBeNull();
    expect(client.cookie).not.toContain(user[0]);
  });

  it.each(['login', 'setPrivileges', 'a user by another name'])(
    'gives nothing to a request that runs with a cookie that an attacker set: %s',
    async (way) => {
      const gates: (() => void)[] = [];
      server.work['keep'] = (session) => {
        session.keep();
        if (way === 'a user by another name') session.setPrivileges({ userName: 'eve' });
      };
      server.work['become'] = (session) => {
        session.setPrivileges({ userName: 'mia', privileges: 'edit' });
      };
      server.work['long'] = async (session) => {
        await new Promise<void>((resolve) => gates.push(resolve));
        const seen = [session.userName, session.hasPrivilege('edit'), session.isGuest];
        session.clearPrivileges();
        session.storage.set('x', 1);
        return seen;
      };
      await run('keep');
      const victim = new Client(server.app);
      victim.cookie = client.cookie;
      const running = run('long');
      await expect.poll(() => gates.length).toBe(1);
      if (way === 'login') await victim.post(login, ['mia', 'right']);
      else await run('become', victim);
      for (const open of gates) open();
      const response = await running;
      expect(response.json()).toEqual({ result: ['', false, true] });
      // What it stores now is separate, and its cookie must not replace the user's.
      expect(response.headers['set-cookie']).toBeUndefined();
      expect(await currentUser(client)).toBeNull();
      expect(await currentUser(victim)).toMatchObject({ userName: 'mia' });
    },
  );

  it('withdraws the cookie that a running request of the guest would set', async () => {
    const gates: (() => void)[] = [];
    server.work['keep'] = (session) => session.keep();
    server.work['renew'] = async (session) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      session.clearPrivileges();
      await new Promise<void>((resolve) => gates.push(resolve));
    };
    server.work['become'] = async (session) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      session.setPrivileges({ userName: 'mia', privileges: 'edit' });
    };
    await run('keep');
    const victim = new Client(server.app);
    victim.cookie = client.cookie;
    const renewing = run('renew');
    await expect.poll(() => gates.length).toBe(1);
    const becoming = run('become', victim);
    await expect.poll(() => gates.length).toBe(2);
    gates[0]?.();
    await expect.poll(() => gates.length).toBe(3);
    gates[1]?.();
    await becoming;
    gates[2]?.();
    expect((await renewing).headers['set-cookie']).toBeUndefined();
    expect(await currentUser(victim)).toMatchObject({ userName: 'mia' });
    expect(await currentUser()).toBeNull();
  });

  it('that exceeds the limit of sessions leaves the session of the guest unchanged', async () => {
    await server.app.close();
    await start({ limits: { maxSessions: 1 } });
    server.work['keep'] = (session) => session.keep();
    const { result: id } = (await run('keep')).json<{ result: string }>();
    await new Client(server.app).post(login, ['bob', 'right']);
    expect((await client.post(login, ['mia', 'right'])).statusCode).toBe(402);
    expect((await run('keep')).json()).toEqual({ result: id });
  });

  it('of somebody who is logged in already does not count twice', async () => {
    await server.app.close();
    await start({ limits: { maxSessions: 1 } });
    server.work['grant'] = (session) => {
      session.setPrivileges('view');
    };
    await run('grant');
    expect((await client.post(login, ['mia', 'right'])).statusCode).toBe(200);
    expect(server.counts()).toEqual({ guests: 0, users: 1 });
  });

  it('of another user takes over no data', async () => {
    await client.post(login, ['mia', 'right']);
    server.work['put'] = (session) => {
      session.storage.set('secret', 'mia’s');
      return session.id;
    };
    server.work['get'] = (session) => session.storage.get('secret');
    const { result: id } = (await run('put')).json<{ result: string }>();
    await client.post(login, ['mia', 'right']);
    expect((await run('get')).json()).toEqual({ result: 'mia’s' });
    await client.post(login, ['bob', 'right']);
    expect((await run('get')).json()).toEqual({ result: null });
    expect(server.ended).toEqual([id]);
  });

  it('is ended by logout', async () => {
    await client.post(login, ['mia', 'right']);
    const { cookie } = client;
    const response = await client.get('/rest/$directory/logout');
    expect(response.json()).toEqual({ result: true });
    expect(response.headers['set-cookie']).toMatch(/^DRSID_staff=; .*Max-Age=0$/);
    expect(server.ended.length).toBe(1);
    client.cookie = cookie;
    expect(await currentUser()).toBeNull();
    expect((await client.get('/rest/$directory/logout')).json()).toEqual({ result: false });
  });

  it.each(['/rest/$directory/logout', login])('from another site is refused: %s', async (url) => {
    await client.post(login, ['mia', 'right']);
    const headers = { 'sec-fetch-site': 'cross-site' };
    const method = url === login ? ('POST' as const) : ('GET' as const);
    if (method === 'GET') {
      expect((await client.send({ method, url, headers })).statusCode).toBe(403);
    }
    expect(await currentUser()).not.toBeNull();
  });
});

describe('Privileges', () => {
  beforeEach(() => {
    server.work['edit'] = (session) => {
      session.setPrivileges({ userName: 'mia', privileges: ['EDIT', 'unknown'] });
      return [...session.privileges].sort();
    };
    server.work['view'] = (session) => {
      session.setPrivileges('view, unknown');
      return [...session.privileges];
    };
    server.work['boss'] = (session) => {
      session.setPrivileges({ roles: 'THE BOSS' });
      return [...session.privileges].sort();
    };
    server.work['clear'] = (session) => {
      session.clearPrivileges();
      return [session.isGuest, session.userName];
    };
  });

  it('are resolved with includes and roles, and replace the former ones', async () => {
    expect((await run('boss')).json()).toEqual({ result: ['edit', 'view'] });
    expect((await run('edit')).json()).toEqual({ result: ['edit', 'view'] });
    expect((await run('view')).json()).toEqual({ result: ['view'] });
    expect(await currentUser()).toMatchObject({ userName: 'mia' });
    expect((await run('clear')).json()).toEqual({ result: [true, ''] });
    expect(await currentUser()).toBeNull();
  });

  it('are not given by a name that is not a string, such as a token may claim', async () => {
    server.work['number'] = (session) => {
      session.setPrivileges({ userName: 5 as never, privileges: 'edit' });
      return session.userName;
    };
    expect((await run('number')).statusCode).toBe(500);
    expect(await currentUser()).toBeNull();
  });

  it('renew the cookie with each change', async () => {
    const cookies = [];
    for (const name of ['edit', 'view', 'clear']) {
      await run(name);
      cookies.push(client.cookie);
    }
    expect(new Set(cookies).size).toBe(3);
    expect((await alive()).length).toBe(1);
  });

  it('leave one session cookie in an answer, that of the last change, besides other cookies', async () => {
    server.work['twice'] = (session, reply) => {
      reply.header('set-cookie', 'theirs=1');
      session.setPrivileges('view');
      session.setPrivileges('edit');
    };
    const { headers } = await run('twice');
    expect(headers['set-cookie']).toEqual(['theirs=1', expect.stringMatching(/^DRSID_staff=/)]);
    expect((await run('view')).json()).toEqual({ result: ['view'] });
  });

  it('that two requests change at the same time leave the client a valid cookie', async () => {
    await run('view');
    let release: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reach: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    server.work['slow'] = async (session) => {
      session.setPrivileges('edit');
      reach();
      await waiting;
    };
    const slow = run('slow');
    await reached;
    const other = new Client(server.app);
    other.cookie = client.cookie;
    // The slow request has renewed the cookie already, so this one has an invalid cookie.
    expect(await currentUser(other)).toBeNull();
    release();
    await slow;
    expect((await run('view')).json()).toEqual({ result: ['view'] });
  });

  it('that two requests set at the same time give both answers a valid cookie', async () => {
    await run('view');
    const gates: (() => void)[] = [];
    server.work['slow'] = async (session) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      session.setPrivileges('edit');
      await new Promise<void>((resolve) => gates.push(resolve));
    };
    const [first, second] = [new Client(server.app), new Client(server.app)];
    first.cookie = client.cookie;
    second.cookie = client.cookie;
    const runs = [run('slow', first), run('slow', second)];
    await expect.poll(() => gates.length).toBe(2);
    for (const open of gates.splice(0)) open();
    await expect.poll(() => gates.length).toBe(2);
    for (const open of gates.splice(0)) open();
    await Promise.all(runs);
    expect(first.cookie).toBe(second.cookie);
    expect((await run('view', first)).json()).toEqual({ result: ['view'] });
  });
});

describe('The lifetime of a session', () => {
  it('starts anew with each use', async () => {
    await client.post(login, ['mia', 'right']);
    for (let i = 0; i < 3; i += 1) {
      server.clock.advance(3_599_000);
      expect(await currentUser()).not.toBeNull();
    }
    server.clock.freeze(3_600_000);
    expect(await currentUser()).toBeNull();
    expect(server.ended.length).toBe(1);
  });

  it('ends without further requests', async () => {
    await client.post(login, ['mia', 'right']);
    server.clock.advance(3_602_000);
    expect(server.ended.length).toBe(1);
    expect(server.clock.waiting).toBe(0);
    expect(server.counts()).toEqual({ guests: 0, users: 0 });
  });

  it.each([
    ['60 minutes at least by header', undefined, { 'session-4D-length': '5' }, 3600],
    ['minutes by header', undefined, { 'session-4D-length': '120' }, 7200],
    ['seconds in the body', ['mia', 'right', 7200], {}, 7200],
    ['a minute at least', ['mia', 'right', 1], {}, 60],
    ['a day at most', ['mia', 'right', 9e15], {}, 86_400],
  ])('can be chosen by the client: %s', async (_name, body, headers, seconds) => {
    const asked = body === undefined ? { 'username-4D': 'mia', 'password-4D': 'right' } : {};
    const all = { ...asked, ...headers } as Record<string, string>;
    expect((await client.post(login, body, all)).statusCode).toBe(200);
    server.clock.freeze(seconds * 1000 - 1);
    expect(await currentUser()).not.toBeNull();
    server.clock.freeze(seconds * 1000);
    expect(await currentUser()).toBeNull();
  });

  it('that ends during a request makes it the request of a guest', async () => {
    await client.post(login, ['mia', 'right']);
    const { cookie } = client;
    server.work['long'] = (session) => {
      session.storage.set('x', 1);
      const before = session.hasPrivilege('edit');
      server.clock.advance(3_602_000);
      return [before, session.hasPrivilege('edit'), session.userName, session.storage.get('x')];
    };
    expect((await run('long')).json()).toEqual({ result: [true, false, '', null] });
    server.work['again'] = (session) => {
      session.storage.set('x', 2);
    };
    await run('again');
    expect(client.cookie).not.toBe(cookie);
  });
});

describe('The number of sessions', () => {
  it('is limited separately for guests and for users', async () => {
    await server.app.close();
    await start({ limits: { maxSessions: 1, maxGuestSessions: 2 } });
    server.work['keep'] = (session) => session.keep();
    const clients = [1, 2, 3].map(() => new Client(server.app));
    const answers = [];
    for (const each of clients) answers.push((await run('keep', each)).statusCode);
    expect(answers).toEqual([200, 200, 402]);
    const [one, two, three] = clients as [Client, Client, Client];
    const refused = await run('keep', three);
    expect(refused.json<{ __ERROR: { errCode: number }[] }>().__ERROR[0]?.errCode).toBe(1823);
    expect((await one.post(login, ['mia', 'right'])).statusCode).toBe(200);
    expect((await two.post(login, ['bob', 'right'])).statusCode).toBe(402);
    expect(await currentUser(two)).toBeNull();
    expect((await run('keep', three)).statusCode).toBe(200);
    await one.get('/rest/$directory/logout');
    expect((await two.post(login, ['bob', 'right'])).statusCode).toBe(200);
    expect(server.counts()).toEqual({ guests: 1, users: 1 });
  });

  it('is limited for the guests of one address together', async () => {
    await server.app.close();
    await start({ limits: { maxGuestSessions: 3000, maxSessions: 1 } });
    server.work['keep'] = (session) => session.keep();
    const from = (remoteAddress: string, cookie?: string): ReturnType<Client['get']> =>
      server.app.inject({
        method: 'POST',
        url: '/rest/work/keep',
        remoteAddress,
        ...(cookie === undefined ? {} : { headers: { cookie } }),
      });
    const one = await from('10.0.0.1');
    for (let i = 1; i < 30; i += 1) expect((await from('10.0.0.1')).statusCode).toBe(200);
    const refused = await from('10.0.0.1');
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('60');
    expect(refused.headers['set-cookie']).toBeUndefined();
    expect(refused.json()).toMatchObject({ __ERROR: [{ errCode: 1844 }] });
    expect((await from('10.0.0.2')).statusCode).toBe(200);

    const [cookie = ''] = String(one.headers['set-cookie']).split(';');
    expect((await from('10.0.0.1', cookie)).statusCode).toBe(200);
    client.cookie = cookie;
    await client.post(login, ['mia', 'right']);
    expect((await from('10.0.0.1')).statusCode).toBe(200);
    expect((await from('10.0.0.1')).statusCode).toBe(429);

    for (let i = 0; i < 30; i += 1) await from(`2001:db8::${i.toString(16)}`);
    expect((await from('2001:db8::ffff')).statusCode).toBe(429);
    expect((await from('2001:db8:0:1::1')).statusCode).toBe(200);
    server.clock.advance(3_602_000);
    expect(server.counts()).toEqual({ guests: 0, users: 0 });
    expect((await from('10.0.0.1')).statusCode).toBe(200);
  });
});
