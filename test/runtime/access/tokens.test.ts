import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TokenSettings } from '../../../runtime/access/login-module.js';
import { Tokens } from '../../../runtime/permissions/tokens.js';
import { Client } from '../../support/cookies.js';
import { type SessionServer, sessionServer } from './session-server.js';

const secret = 'a secret of more than thirty-two characters';
const bytes = new TextEncoder().encode(secret);
const nothing: TokenSettings = { key: '', keysUrl: '', issuer: '', audience: '' };

let server: SessionServer;

afterEach(() => server.app.close());

async function start(tokens: Partial<TokenSettings>): Promise<void> {
  server = await sessionServer({ tokens });
}

function token(claims: JWTPayload = {}, algorithm = 'HS256'): SignJWT {
  const signed = new SignJWT({ sub: 'mia', ...claims }).setProtectedHeader({ alg: algorithm });
  return claims.exp === undefined ? signed.setExpirationTime('1h') : signed;
}

async function ask(
  bearer: string,
  headers: Record<string, string> = {},
): ReturnType<Client['get']> {
  return new Client(server.app).get('/rest/$directory/currentUser', {
    authorization: `Bearer ${bearer}`,
    ...headers,
  });
}

async function userOf(bearer: string): Promise<unknown> {
  const response = await ask(bearer);
  if (response.statusCode !== 200) return response.statusCode;
  expect(response.headers['set-cookie']).toBeUndefined();
  return response.json<{ result: { userName: string } | null }>().result?.userName;
}

describe('A bearer token', () => {
  it('that is signed with the secret logs its subject in, in one session', async () => {
    await start({ key: secret });
    const bearer = await token().sign(bytes);
    const found = await Promise.all([userOf(bearer), userOf(bearer), userOf(bearer)]);
    expect(found).toEqual(['mia', 'mia', 'mia']);
    expect(server.counts()).toEqual({ guests: 0, users: 1 });
    const other = await token({ jti: '2' }).sign(bytes);
    expect(await userOf(other)).toBe('mia');
    expect(server.counts()).toEqual({ guests: 0, users: 2 });
  });

  it('gives the privileges of its mapped claims, and no cookie when they change', async () => {
    await start({ key: secret });
    server.work['look'] = (session) => {
      const before = session.hasPrivilege('edit');
      session.setPrivileges('view');
      return [before, session.hasPrivilege('edit')];
    };
    const authorization = `bearer ${await token().sign(bytes)}`;
    const client = new Client(server.app);
    const send = (): ReturnType<Client['post']> =>
      client.post('/rest/work/look', undefined, { authorization });
    expect((await send()).json()).toEqual({ result: [true, false] });
    expect((await send()).json()).toEqual({ result: [false, false] });
    expect(client.cookie).toBeUndefined();
  });

  it('ends at its expiry, whatever the idle timeout', async () => {
    await start({ key: secret });
    const now = Date.now() / 1000;
    const bearer = await token({ exp: Math.floor(now) + 30 }).sign(bytes);
    server.clock.freeze(Date.now() - server.clock.now());
    expect(await userOf(bearer)).toBe('mia');
    server.clock.advance(61_000);
    expect(server.ended.length).toBe(1);
  });

  it.each<readonly [string, () => Promise<string> | string]>([
    ['of nobody who is known', () => token({ sub: 'eve' }).sign(bytes)],
    ['signed with another secret', () => token().sign(new TextEncoder().encode(`${secret}!`))],
    ['that has expired', () => token({ exp: Math.floor(Date.now() / 1000) - 60 }).sign(bytes)],
    ['that is not valid yet', () => token().setNotBefore('10m').sign(bytes)],
    [
      'without an end',
      () => new SignJWT({ sub: 'mia' }).setProtectedHeader({ alg: 'HS256' }).sign(bytes),
    ],
    ['without a signature', () => unsigned({ alg: 'none' })],
    ['of a made-up algorithm', () => unsigned({ alg: 'HS1' })],
    ['that is none', () => 'a.b.c'],
    ['that is none at all', () => 'x'],
    ['that is empty', () => ''],
    ['that is endless', () => `${'a'.repeat(9000)}.b.c`],
  ])('is refused: %s', async (_name, make) => {
    await start({ key: secret });
    const response = await ask(await make());
    expect(response.statusCode).toBe(401);
    expect(response.json()).toMatchObject({ __ERROR: [{ errCode: 1822 }] });
    expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(server.counts()).toEqual({ guests: 0, users: 0 });
  });

  it('must have the configured issuer and audience', async () => {
    await start({ key: secret, issuer: 'https://issuer.example', audience: 'staff' });
    const right = { iss: 'https://issuer.example', aud: ['staff', 'other'] };
    expect(await userOf(await token(right).sign(bytes))).toBe('mia');
    expect(await userOf(await token({ ...right, aud: 'other' }).sign(bytes))).toBe(401);
    expect(await userOf(await token({ ...right, iss: 'https://else.example' }).sign(bytes))).toBe(
      401,
    );
    expect(await userOf(await token().sign(bytes))).toBe(401);
  });

  it('is verified with a public key, which is never used as a secret', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    const pem = await exportSPKI(publicKey);
    await start({ key: pem.replaceAll('\n', '\\n') });
    expect(await userOf(await token({}, 'RS256').sign(privateKey))).toBe('mia');
    expect(await userOf(await token().sign(new TextEncoder().encode(pem)))).toBe(401);
  });

  it('is verified with a key of a set', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
    const keys = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys: [jwk, { kty: 'oct', k: 'c2VjcmV0', kid: 'two' }] }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => keys.once('listening', resolve));
    const { port } = keys.address() as AddressInfo;
    await start({ keysUrl: `http://127.0.0.1:${port}/keys` });
    const signed = new SignJWT({ sub: 'mia' }).setExpirationTime('1h');
    const header = { alg: 'ES256', kid: 'one' };
    expect(await userOf(await signed.setProtectedHeader(header).sign(privateKey))).toBe('mia');
    const forged = new SignJWT({ sub: 'mia' })
      .setExpirationTime('1h')
      .setProtectedHeader({ alg: 'HS256', kid: 'two' });
    expect(await userOf(await forged.sign(new TextEncoder().encode('secret')))).toBe(401);
    keys.close();
  });

  it('is accepted 30 seconds after its end and before its beginning: clocks differ', async () => {
    await start({ key: secret });
    const now = Math.floor(Date.now() / 1000);
    expect(await userOf(await token({ exp: now - 20 }).sign(bytes))).toBe('mia');
    expect(await userOf(await token({ nbf: now + 20, iat: now + 20 }).sign(bytes))).toBe('mia');
    expect(server.logged).toEqual([]);
    expect(await userOf(await token({ exp: now - 40 }).sign(bytes))).toBe(401);
    expect(server.logged).toEqual([
      expect.stringMatching(/A bearer token is refused.+"exp" claim timestamp check failed/s),
    ]);
  });

  it('is verified with known keys while the key set cannot be reached, and without any answered with 503', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
    let [isDown, fetched] = [true, 0];
    const keys = createServer((_request, response) => {
      fetched += 1;
      if (isDown) response.statusCode = 500;
      response.end(JSON.stringify({ keys: [jwk] }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => keys.once('listening', resolve));
    const { port } = keys.address() as AddressInfo;
    await start({ keysUrl: `http://127.0.0.1:${port}/keys` });
    const signed = (jti: string, kid = 'one'): Promise<string> =>
      new SignJWT({ sub: 'mia', jti })
        .setExpirationTime('1h')
        .setProtectedHeader({ alg: 'ES256', kid })
        .sign(privateKey);
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    try {
      for (const jti of ['1', '2']) {
        const { statusCode, headers } = await ask(await signed(jti));
        expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
      }
      expect([fetched, server.logged.length]).toEqual([1, 1]);
      expect(server.logged[0]).toContain('The keys of TOKEN_KEYS_URL cannot be fetched');
      isDown = false;
      vi.advanceTimersByTime(5_000);
      expect(await userOf(await signed('1'))).toBe('mia');
      isDown = true;
      vi.advanceTimersByTime(20 * 60_000);
      expect(await userOf(await signed('3'))).toBe('mia');
      expect([fetched, server.logged.length]).toEqual([3, 2]);
      expect(await userOf(await signed('4', 'two'))).toBe(503);
      isDown = false;
      vi.advanceTimersByTime(5_000);
      expect(await userOf(await signed('4', 'two'))).toBe(401);
    } finally {
      vi.useRealTimers();
      keys.close();
    }
  });

  it('has no effect if no keys are configured', async () => {
    await start({});
    expect(await userOf(await token().sign(bytes))).toBeUndefined();
  });
});

it.each<readonly [Partial<TokenSettings>, RegExp]>([
  [{ key: 'short' }, /TOKEN_KEY must have at least 32/],
  [{ key: '-----BEGIN PUBLIC KEY-----\nx' }, /TOKEN_KEY is no public key/],
  [{ keysUrl: 'x' }, /TOKEN_KEYS_URL is no address/],
  [{ key: secret, keysUrl: 'https://x.example' }, /both set/],
])('Keys that are invalid stop the start: %j', async (given, message) => {
  await start({});
  const login = { login: () => null, loginWithToken: () => null };
  await expect(Tokens.open({ ...nothing, ...given }, login, server.app.log)).rejects.toThrow(
    message,
  );
  await expect(
    Tokens.open({ ...nothing, ...given }, { login: () => null }, server.app.log),
  ).rejects.toThrow(/loginWithToken/);
});

function unsigned(header: object): string {
  const part = (json: object): string => Buffer.from(JSON.stringify(json)).toString('base64url');
  return `${part(header)}.${part({ sub: 'mia', exp: 9e9 })}.c2ln`;
}
