import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { rolesServerOf } from '../../support/roles-server.js';

const model = `drs: 1
name: shares
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      file: blob
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: edit, includes: [] }
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, read: [guest], create: [guest], update: [guest], drop: [edit] }
`;

const block = 4096;
let app: FastifyInstance;
afterEach(() => app.close());

async function start(environment: Readonly<Record<string, string>>): Promise<void> {
  app = await rolesServerOf(model, { environment });
}

async function loggedInAs(user: string): Promise<Client> {
  const client = new Client(app);
  await client.post('/rest/$directory/login', [user, '{"privileges":["edit"]}']);
  return client;
}

describe('The space for uploads', () => {
  beforeEach(() => start({ UPLOAD_SIZE: String(block), UPLOAD_SPACE: String(12 * block) }));

  /** Uploads until one is refused; returns the number of accepted ones, and the refusal. */
  async function fill(send: () => ReturnType<Client['send']>): Promise<readonly unknown[]> {
    for (let count = 0; count < 20; count += 1) {
      const { statusCode, headers } = await send();
      if (statusCode !== 200) return [count, statusCode, Number(headers['retry-after']) > 0];
    }
    return ['never refused'];
  }

  const asUser = (client: Client) => () =>
    client.send({ method: 'POST', url: '/rest/$upload', payload: 'x' });
  const asGuestFrom = (remoteAddress: string) => () =>
    app.inject({ method: 'POST', url: '/rest/$upload', payload: 'x', remoteAddress });

  it('is shared: a quarter is for one user in all sessions, or the guests of one address', async () => {
    expect(await fill(asGuestFrom('192.0.2.1'))).toEqual([3, 429, true]);
    const first = await loggedInAs('ada');
    expect((await asUser(first)()).statusCode).toBe(200);
    expect(await fill(asUser(await loggedInAs('ada')))).toEqual([2, 429, true]);
    expect(await fill(asUser(await loggedInAs('bob')))).toEqual([3, 429, true]);
  });

  it('is at most half used by guests, however many they are', async () => {
    const counts = [];
    for (const last of [1, 2, 3]) counts.push(await fill(asGuestFrom(`192.0.2.${last}`)));
    expect(counts.map(([count]) => count)).toEqual([3, 3, 0]);
    expect(await fill(asUser(await loggedInAs('ada')))).toEqual([3, 429, true]);
    expect(await fill(asUser(await loggedInAs('bob')))).toEqual([3, 429, true]);
  });
});

describe('One upload', () => {
  const size = 1024 * 1024;
  let client: Client;
  let id: string;

  beforeEach(async () => {
    await start({ UPLOAD_SIZE: String(size), UPLOAD_SPACE: String(100 * size) });
    client = await loggedInAs('ada');
    const url = '/rest/$upload?$binary=true';
    const sent = await client.send({ method: 'POST', url, payload: Buffer.alloc(size) });
    id = sent.json<{ readonly ID: string }>().ID;
  });

  /** The number of entities that were stored with it. */
  async function stored(count: number, query = ''): Promise<number> {
    const notes = Array.from({ length: count }, () => ({ file: { ID: id } }));
    const response = await client.post(`/rest/Note?$method=update${query}`, notes);
    const body = response.json<{ readonly __ENTITIES?: readonly object[] }>();
    return (body.__ENTITIES ?? []).filter((each) => '__KEY' in each).length;
  }

  it('can be stored in at most eight entities of its size, in one request or in several', async () => {
    expect(await stored(3)).toBe(3);
    expect(await stored(10)).toBe(5);
    expect(await stored(1)).toBe(0);
    const refused = await client.post('/rest/Note?$method=update', { file: { ID: id } });
    expect(refused.statusCode).toBe(400);
    expect(refused.body).toContain('1826');
    expect(refused.body).toContain('send the file again');
  });

  it('is not used up by entities that are not stored', async () => {
    for (let count = 0; count < 3; count += 1) {
      expect(await stored(10, '&$atomic=true')).toBe(0);
      await client.post('/rest/Note?$method=validate', [
        { file: { ID: id } },
        { file: { ID: id } },
      ]);
    }
    expect(await stored(8)).toBe(8);
  });
});
