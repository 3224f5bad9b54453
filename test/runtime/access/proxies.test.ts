import { describe, expect, it } from 'vitest';
import { trustedProxies } from '../../../runtime/http/settings.js';
import { Client } from '../../support/cookies.js';
import { create, serverOf } from '../../support/server.js';

describe('TRUST_PROXY', () => {
  it.each([
    ['', false],
    ['0', false],
    ['10.0.0.0/8, loopback,::1', ['10.0.0.0/8', 'loopback', '::1']],
  ])('accepts %j, and trusts %j', (text, expected) => {
    expect(trustedProxies({ TRUST_PROXY: text })).toEqual(expected);
  });

  it.each([
    'true',
    '-1',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0/8',
    '1.2.3.4/8/8',
    '1.2.3.4,',
    '1.2.3.4/',
  ])('refuses %j', (text) => {
    expect(() => trustedProxies({ TRUST_PROXY: text })).toThrow('TRUST_PROXY');
  });
});

const model = `
drs: 1
name: proxies
roles: { restrictedByDefault: false }
dataclasses: { A: { attributes: { ID: { type: integer, key: true, generated: sequence } } } }
`;

/** The address of a client behind a proxy, as others see it at its lock. */
async function knownAddress(environment: Record<string, string>): Promise<unknown> {
  const app = await serverOf(model, { environment });
  await create(app, 'A', [{}]);
  const headers = { 'x-forwarded-for': '203.0.113.1, 198.51.100.7' };
  await app.inject({ url: '/rest/A(1)?$lock=true', headers });
  const met = await new Client(app).get('/rest/A(1)?$lock=true');
  await app.close();
  return met.json<{ readonly __STATUS: { readonly lockInfo: { readonly IPAddr: string } } }>()
    .__STATUS.lockInfo.IPAddr;
}

it('The forwarded headers of a proxy are used only if proxies are trusted', async () => {
  expect(await knownAddress({})).toBe('127.0.0.1');
  expect(await knownAddress({ TRUST_PROXY: 'loopback' })).toBe('198.51.100.7');
  expect(await knownAddress({ TRUST_PROXY: '1' })).toBe('198.51.100.7');
  expect(await knownAddress({ TRUST_PROXY: '2' })).toBe('203.0.113.1');
  expect(await knownAddress({ TRUST_PROXY: '10.0.0.0/8' })).toBe('127.0.0.1');
});
