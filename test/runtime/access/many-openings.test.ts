import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

/** Attributes and functions that have a privilege each, and one that two of them open. */
function modelWith(count: number): string {
  const all = numbers(count);
  return `
drs: 1
name: many
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${all.map((at) => `      a${at}: string`).join('\n')}
      both: string
  Part:
    attributes: { ID: { type: integer, key: true, generated: sequence }, item: { to: Item } }
roles:
  restrictedByDefault: false
  privileges:
${all.map((at) => `    - { privilege: p${at} }`).join('\n')}
    - { privilege: all, includes: [${all.map((at) => `p${at}`).join(', ')}] }
  permissions:
    allowed:
${all.map((at) => `      - { applyTo: Item.a${at}, type: attribute, read: [p${at}], update: [p${(at + 1) % count}] }`).join('\n')}
      - { applyTo: Item.both, type: attribute, read: [p0, p${count - 1}] }
      - { applyTo: Part, type: dataclass, read: [p${count - 1}], update: [p${count - 2}] }
`;
}

// Numbers have 31 bits for it; beyond that, the emitted bits are of type bigint.
describe.each([31, 40, 200])('A model with %i lists of privileges and more', (count) => {
  let app: FastifyInstance;
  const last = count - 1;
  beforeAll(async () => {
    app = await rolesServerOf(modelWith(count));
    const values = Object.fromEntries(numbers(count).map((at) => [`a${at}`, 'x']));
    const admin = await loggedIn(app, { privileges: ['all'] });
    const made = await admin.post('/rest/Item?$method=update', [{ ...values, both: 'x' }]);
    expect(made.statusCode).toBe(200);
    expect((await admin.post('/rest/Part?$method=update', [{ item: 1 }])).statusCode).toBe(200);
  });
  afterAll(() => app.close());

  async function attributesOf(client: Client): Promise<readonly string[]> {
    const entity = (await client.get('/rest/Item(1)')).json<object>();
    return Object.keys(entity).filter((name) => !name.startsWith('__') && name !== 'uri');
  }

  it('opens to each session what its privileges open', async () => {
    expect(await attributesOf(new Client(app))).toEqual(['ID']);
    for (const at of [0, 1, 29, 30, last - 1, last]) {
      const client = await loggedIn(app, { privileges: [`p${at}`] });
      const both = at === 0 || at === last ? ['both'] : [];
      expect(await attributesOf(client)).toEqual(['ID', `a${at}`, ...both]);
      const other = `a${(at + 1) % count}`;
      expect((await client.get(`/rest/Item?$filter="${other} = x"`)).statusCode).toBe(400);
      expect((await client.get(`/rest/Item?$filter="a${at} = x"`)).json()).toMatchObject({
        __COUNT: 1,
      });
      expect((await client.get('/rest/Part')).statusCode).toBe(at === last ? 200 : 403);
    }
    const all = await loggedIn(app, { privileges: ['all'] });
    expect(await attributesOf(all)).toHaveLength(count + 2);
  });

  it('needs all bits of a change', async () => {
    const change = { __KEY: '1', item: null };
    const statusOf = async (...privileges: string[]): Promise<number> => {
      const client = await loggedIn(app, { privileges });
      const part = (await client.get('/rest/Part(1)')).json<{ __STAMP?: number }>();
      const body = { ...change, __STAMP: part.__STAMP ?? 1 };
      return (await client.post('/rest/Part?$method=update', body)).statusCode;
    };
    expect(await statusOf(`p${last}`)).toBe(403);
    expect(await statusOf(`p${last - 1}`)).toBe(403);
    expect(await statusOf(`p${last}`, `p${last - 1}`)).toBe(200);
    expect(await statusOf('all')).toBe(200);
  });
});
