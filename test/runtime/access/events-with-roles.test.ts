import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codesOf } from '../../hostile/served.js';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { modelOf } from '../../support/server.js';

const model = `
drs: 1
name: shop
dataclasses:
  Order:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      total: number
      log: { type: string, exposed: false }
    events: [saving, dropping]
roles:
  privileges: [{ privilege: clerk }, { privilege: boss, includes: [clerk] }]
  permissions:
    allowed:
      - { applyTo: Order, type: dataclass, create: [clerk], update: [clerk], drop: [clerk] }
      - { applyTo: Order.total, type: attribute, create: [boss], update: [boss], drop: [boss] }
`;

const classes = {
  'src/classes/OrderEntity.ts': `
import { OrderEntityBase } from '../generated/api.js';
export class OrderEntity extends OrderEntityBase {
  async saving(): Promise<void> {
    this.log = (this.log ?? '') + 's';
    if (this.text === 'denied') this.total = 0;
    else await this.session.promote('boss', () => { this.total = (this.total ?? 0) + 1; });
  }
  async dropping(): Promise<void> {}
}`,
};

let app: FastifyInstance;
let guest: Client;
let clerk: Client;
let boss: Client;

beforeAll(async () => {
  app = await rolesServerOf(modelOf(model), {}, classes);
  guest = new Client(app);
  clerk = await loggedIn(app, { privileges: ['clerk'] });
  boss = await loggedIn(app, { privileges: ['boss'] });
});
afterAll(() => app.close());

it('A value that a client may not write is refused before events run; promoted events write more', async () => {
  const url = '/rest/Order?$method=update';
  const asGuest = await guest.post(url, { text: 'x' });
  expect(asGuest.statusCode).toBe(401);
  expect(codesOf(asGuest)).toEqual([1558]);
  const made = await clerk.post(url, { text: 'tea' });
  expect(made.json(), made.body).toMatchObject({ __KEY: '1', text: 'tea', total: 1 });
  const own = await clerk.post(url, { text: 'denied' });
  expect(own.statusCode).toBe(403);
  expect(codesOf(own)).toEqual([1557]);
  expect(own.body).not.toContain('total');
  const [listed] = (await clerk.post(url, [{ text: 'denied' }])).json<{
    __ENTITIES: { __ERROR: { errCode: number }[] }[];
  }>().__ENTITIES;
  expect(listed?.__ERROR.map(({ errCode }) => errCode)).toEqual([1557]);
  const refused = await clerk.post(url, { text: 'tea', total: 7 });
  expect(refused.statusCode).toBe(403);
  expect(codesOf(refused)).toContain(1557);
  const { __STAMP: stamp }: { __STAMP: number } = made.json();
  const raised = await clerk.post('/rest/Order(1)', { __STAMP: stamp, total: 9 });
  expect(raised.statusCode).toBe(403);
  expect(codesOf(raised)).toContain(1558);
  const emptied = await clerk.post('/rest/Order(1)', { __STAMP: stamp, total: null });
  expect(emptied.statusCode).toBe(403);
  const whole = await clerk.post('/rest/Order(1)', { ...made.json<object>(), text: 'coffee' });
  expect(whole.json(), whole.body).toMatchObject({ text: 'coffee', total: 2 });
  const bosses = await boss.post(url, { text: 'gold', total: 100 });
  expect(bosses.json(), bosses.body).toMatchObject({ total: 101 });
});

it('An entity that may not lose a value cannot be deleted', async () => {
  const kept = await clerk.post('/rest/Order(1)?$method=delete');
  expect(kept.statusCode).toBe(403);
  expect(codesOf(kept)).toEqual([1559]);
  expect((await boss.post('/rest/Order(1)?$method=delete')).json()).toEqual({ ok: true });
});
