import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FailedLogins, Logins } from '../../../runtime/permissions/logins.js';
import type { LoginModule } from '../../../runtime/access/login-module.js';
import { hashPassword, isPassword } from '../../../runtime/access/password.js';
import { Client } from '../../support/cookies.js';
import { RequestError } from '../../../runtime/protocol/errors.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type SessionServer, sessionServer } from './session-server.js';

const address = '192.0.2.1';
let clock: FakeClock;
let asked: number;
let logins: Logins;

const login: LoginModule['login'] = (user, password) => {
  asked += 1;
  return password === 'right' ? { userName: user } : null;
};

beforeEach(() => {
  clock = new FakeClock();
  asked = 0;
  logins = new Logins({ login }, new FailedLogins(clock));
});

async function fail(user: string, from = address): Promise<void> {
  expect(await logins.grantOf(user, 'wrong', from)).toBeUndefined();
}

async function waitOf(user: string, from = address): Promise<number> {
  const error: unknown = await logins.grantOf(user, 'right', from).catch((each: unknown) => each);
  if (!(error instanceof RequestError)) throw new Error('was not refused');
  expect(error.status).toBe(429);
  return Number(error.headers['retry-after']);
}

describe('Failed logins', () => {
  it('delay a user from the sixth one on, twice as long each time, up to a minute', async () => {
    for (let i = 0; i < 5; i += 1) await fail('mia', `192.0.2.${i}`);
    const waits = [];
    for (let i = 0; i < 9; i += 1) {
      await fail('MIA', `198.51.100.${i}`);
      const wait = await waitOf('mia');
      waits.push(wait);
      clock.freeze(wait * 1000);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(await logins.grantOf('mia', 'right', address)).toEqual({ userName: 'mia' });
    for (let i = 0; i < 5; i += 1) await fail('mia');
  });

  it('delay an address, whatever the user name, and no other address', async () => {
    for (let i = 0; i < 21; i += 1) await fail(`user ${i}`);
    expect(await waitOf('mia')).toBe(1);
    expect(await logins.grantOf('mia', 'right', '192.0.2.2')).toBeDefined();
  });

  it('of one IPv6 network count as those of one address', async () => {
    for (let i = 0; i < 21; i += 1) await fail(`user ${i}`, `2001:db8:1:2::${i.toString(16)}`);
    expect(await waitOf('mia', '2001:db8:1:2:ffff::1')).toBe(1);
    expect(await logins.grantOf('mia', 'right', '2001:db8:1:3::1')).toBeDefined();
    for (let i = 0; i < 21; i += 1) await fail(`user ${i}`, `::ffff:198.51.100.1`);
    expect(await logins.grantOf('mia', 'right', '::ffff:198.51.100.2')).toBeDefined();
  });

  it('are not reset for an address by a successful login', async () => {
    for (let i = 0; i < 20; i += 1) await fail(`user ${i}`);
    await logins.grantOf('own', 'right', address);
    await fail('user 20');
    expect(await waitOf('mia')).toBe(1);
  });

  it('cannot avoid the delay by arriving at the same time', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => logins.grantOf('mia', 'wrong', address)),
    );
    const examined = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(examined).toBe(6);
    expect(asked).toBe(6);
  });

  it('are not those that are correct and arrive at the same time', async () => {
    const server = await sessionServer();
    const login = '/rest/$directory/login';
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => new Client(server.app).post(login, ['mia', 'right'])),
    );
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
    await server.app.close();
    const users = Array.from({ length: 30 }, (_, i) =>
      logins.grantOf(`user ${i}`, 'right', address),
    );
    expect(await Promise.all(users)).toHaveLength(30);
  });

  it('are forgotten after an hour, and until then the password is not checked', async () => {
    for (let i = 0; i < 6; i += 1) await fail('mia', `192.0.2.${i}`);
    const before = asked;
    await waitOf('mia', '192.0.2.9');
    expect(asked).toBe(before);
    clock.freeze(3_600_001);
    for (let i = 0; i < 5; i += 1) await fail('mia', `192.0.2.${i}`);
  });

  it('are remembered for a limited number of users, the most recent ones', async () => {
    for (let i = 0; i < 6; i += 1) await fail('old', `192.0.2.${i}`);
    for (let i = 0; i < 10_000; i += 1) await fail(`user ${i}`, `10.0.${i >> 8}.${i & 255}`);
    expect(await logins.grantOf('old', 'right', '192.0.2.50')).toBeDefined();
  });

  it('do not count when the user’s code fails', async () => {
    const broken = new Logins(
      {
        login: () => {
          throw new Error('no connection');
        },
      },
      new FailedLogins(clock),
    );
    for (let i = 0; i < 30; i += 1) {
      await expect(broken.grantOf('mia', 'right', address)).rejects.toThrow('no connection');
    }
  });
});

it('The server runs a limited number of logins at the same time', async () => {
  let finish: (() => void)[] = [];
  const slow = new Logins(
    {
      login: () =>
        new Promise((resolve) => {
          finish.push(() => {
            resolve(null);
          });
        }),
    },
    new FailedLogins(clock),
  );
  const tries = Array.from({ length: 40 }, (_, i) => slow.grantOf(`u${i}`, 'x', `192.0.2.${i}`));
  const settled = Promise.allSettled(tries);
  await expect.poll(() => finish.length).toBe(32);
  for (const each of finish) each();
  finish = [];
  const refused = (await settled).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBe(8);
});

it('A login with an empty or very long name or password does not reach the user’s code', async () => {
  expect(await logins.grantOf('mia', 'x'.repeat(1025), address)).toBeUndefined();
  expect(await logins.grantOf('x'.repeat(1025), 'right', address)).toBeUndefined();
  expect(await logins.grantOf('mia', '', address)).toBeUndefined();
  expect(await logins.grantOf('', 'right', address)).toBeUndefined();
  expect(asked).toBe(0);
});

describe('A password', () => {
  it('is stored as a hash with its parameters, each time with another salt', async () => {
    const [one, two] = await Promise.all([hashPassword('sécret'), hashPassword('sécret')]);
    expect(one).toMatch(/^scrypt\$16384\$8\$5\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=$/);
    expect(one).not.toBe(two);
    expect(await isPassword('se\u0301cret', one)).toBe(true);
    expect(await isPassword('Sécret', one)).toBe(false);
    expect(await isPassword('', one)).toBe(false);
  });

  it('is refused when there is no hash or a malformed one', async () => {
    for (const stored of [undefined, '', 'secret', 'scrypt$16384$8$5$$', 'scrypt$1$1$1$=$=']) {
      expect(await isPassword('secret', stored).catch(() => false)).toBe(false);
    }
  });

  it('takes as long to compare for a user who does not exist', async () => {
    const stored = await hashPassword('x');
    // Processor time, which does not depend on what else the machine does.
    const timed = async (hash: string | undefined): Promise<number> => {
      const start = process.cpuUsage();
      await isPassword('wrong', hash);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    let [known, unknown] = [Infinity, Infinity];
    for (let round = 0; round < 3; round += 1) {
      known = Math.min(known, await timed(stored));
      unknown = Math.min(unknown, await timed(undefined));
    }
    expect(Math.max(known, unknown) / Math.min(known, unknown)).toBeLessThan(5);
  });
});

describe('The data of a login request', () => {
  let server: SessionServer;

  beforeEach(async () => {
    server = await sessionServer({
      login: () => {
        throw new Error('the directory is away');
      },
    });
  });
  afterEach(() => server.app.close());

  it.each([
    '["mia","hunter2",',
    '{"user":"mia","password":"hunter2"',
    '"hunter2"',
    '["mia","hunter2","hunter2"]',
    '{"user":"mia","password":["hunter2"]}',
    '["mia","hunter2",1,"hunter2"]',
    '["mia","hunter2"]',
    'hunter2',
  ])('appears in no answer and no log: %s', async (payload) => {
    const url = '/rest/$directory/login';
    const response = await new Client(server.app).send({ method: 'POST', url, payload });
    expect(response.statusCode).toBeGreaterThanOrEqual(400);
    expect(response.body).not.toContain('hunter2');
    expect(server.logged.join('\n')).not.toContain('hunter2');
  });
});

describe('A login that throws', () => {
  it.each([
    [{ code: 'SQLITE_FULL' }, 503],
    [{ code: 'ECONNREFUSED' }, 503],
    [{ code: '57P01' }, 503],
    [{ cause: Object.assign(new Error('disk'), { code: 'SQLITE_CANTOPEN' }) }, 503],
    [{ cause: new Error('Connection terminated unexpectedly') }, 503],
    [{ code: 'SQLITE_ERROR' }, 500],
    [{ code: 'ERR_INVALID_ARG_TYPE' }, 500],
    [{}, 500],
  ])('an error like %j is answered with %i, and logged', async (members, status) => {
    const server = await sessionServer({
      login: () => {
        throw Object.assign(new Error('a secret of the server'), members);
      },
    });
    const response = await new Client(server.app).post('/rest/$directory/login', ['mia', 'x']);
    expect(response.statusCode).toBe(status);
    expect(response.headers['retry-after']).toBe(status === 503 ? '1' : undefined);
    expect(response.body).not.toContain('secret');
    expect(server.logged.join()).toContain('a secret of the server');
    await server.app.close();
  });
});
