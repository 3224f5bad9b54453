import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
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
  restrictedByDefault: false
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
    if (this.text === 'lost') {
      const lost = Reflect.get(globalThis, Symbol.for('drs test lost')) as (() => void)[];
      this.text = await new Promise<string>((resolve) => {
        lost.push(() => {
          Promise.resolve()
            .then(() => this.ds.Order.all().count())
            .then(String, (error: unknown) => (error as Error).message)
            .then(resolve, resolve);
        });
      });
    }
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
  expect(codesOf(asGuest)).toEqual([1557]);
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

it('An event that has lost its async context is refused', async () => {
  const lost: (() => void)[] = [];
  Reflect.set(globalThis, Symbol.for('drs test lost'), lost);
  const answer = boss.post('/rest/Order?$method=update', { text: 'lost' });
  await expect.poll(() => lost.length).toBe(1);
  for (const each of lost) each();
  expect((await answer).body).toContain('request is unknown');
});

it('An entity that may not lose a value cannot be deleted', async () => {
  const kept = await clerk.post('/rest/Order(1)?$method=delete');
  expect(kept.statusCode).toBe(403);
  expect(codesOf(kept)).toEqual([1559]);
  expect((await boss.post('/rest/Order(1)?$method=delete')).json()).toEqual({ ok: true });
});

const watched = `
drs: 1
name: watched
protocol: { compatibility: wakanda }
dataclasses:
  Firm:
    attributes:
      ID: { type: integer, key: true }
      tasks: { to: Task, many: true, inverse: firm }
  Task:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      mark: { computed: string, accessors: [get, set] }
      grade: { computed: string, accessors: [get, set] }
      firm: { to: Firm, inverse: tasks }
    events: [init, validateSave, saving, clientRefresh]
    functions:
      dataclass:
        take: { exposed: true, params: { task: Task }, returns: boolean }
        takeAll: { exposed: true, params: { tasks: Task.selection }, returns: boolean }
datastore:
  functions: { ran: { exposed: true, returns: any } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: maker }, { privilege: changer }, { privilege: boss, includes: [maker, changer] }]
  permissions:
    allowed:
      - { applyTo: Task, type: dataclass, create: [maker], update: [changer] }
      - { applyTo: Task.grade, type: attribute, create: [boss], update: [boss] }
`;

const watchedClasses = {
  'src/classes/Task.ts': `
import { TaskBase } from '../generated/api.js';
export class Task extends TaskBase { take(): boolean { return true; } takeAll(): boolean { return true; } }`,
  'src/classes/TaskEntity.ts': `
import { TaskEntityBase } from '../generated/api.js';
import { ran } from './DataStore.js';
export class TaskEntity extends TaskEntityBase {
  get mark(): string | null { return this.text; }
  set mark(value: string | null) { ran.push('mark'); this.text = value; }
  get grade(): string | null { return 'low'; }
  set grade(_value: string | null) { ran.push('grade'); }
  init(): void { ran.push('init'); }
  validateSave(): void { ran.push('validateSave'); }
  saving(): void { ran.push('saving'); }
  clientRefresh(): void { ran.push('clientRefresh'); }
}`,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';
export const ran: string[] = [];
export class DataStore extends DataStoreBase { ran(): unknown { return ran.splice(0); } }`,
};

describe('Setters and events run after the check of privileges', () => {
  let server: FastifyInstance;
  let owner: Client;
  let set: string;

  beforeAll(async () => {
    server = await rolesServerOf(modelOf(watched), {}, watchedClasses);
    owner = await loggedIn(server, { privileges: ['boss'] });
    const update = '$method=update';
    await owner.post(`/rest/Firm?${update}`, { ID: 1 });
    const made = await owner.post(`/rest/Task?${update}`, [{ text: 'a', firm: 1 }, { text: 'b' }]);
    expect(made.statusCode, made.body).toBe(200);
    const answer = await owner.get('/rest/Task?$method=entityset');
    set = answer.json<{ __ENTITYSET: string }>().__ENTITYSET.split('/').at(-1) ?? '';
  });
  afterAll(() => server.close());

  /** What of the class code ran in a request, and what it was answered. */
  async function seen(client: Client, path: string, body: unknown): Promise<object> {
    await owner.post('/rest/$catalog/ran', []);
    const answer = await client.post(`/rest/${path}`, body);
    const { result: code } = (await owner.post('/rest/$catalog/ran', [])).json<{
      result: string[];
    }>();
    const json = answer.json<{ __ERROR?: unknown; __ENTITIES?: { __ERROR?: unknown }[] }>();
    const refused = 'result' in json ? undefined : (json.__ENTITIES?.[0] ?? json).__ERROR;
    return { status: answer.statusCode, code, isRefused: refused !== undefined };
  }

  const task = { __DATACLASS: 'Task', __ENTITY: true };
  const tasks = (): object => ({ __DATACLASS: 'Task', __ENTITIES: true, __DATASET: set });
  const stored = { __KEY: 1, __STAMP: 1 };

  let count = 0;
  /** A setter does not run for the value that the getter returns. */
  const next = (): string => `text ${(count += 1)}`;

  it.each([
    ['argument', 'Task/take', () => [{ ...task, __KEY: 1, mark: next() }]],
    ['selection as an argument', 'Task/takeAll', () => [{ ...tasks(), mark: next() }]],
    ['save', 'Task?$method=update', () => ({ ...stored, mark: next() })],
    ['save without a stamp', 'Task?$method=update', () => ({ __KEY: 1, mark: next() })],
    ['list', 'Task?$method=update', () => [{ __KEY: 1, mark: next() }]],
    ['atomic list', 'Task?$method=update&$atomic=true', () => [{ __KEY: 1, mark: next() }]],
    ['validation', 'Task?$method=validate', () => [{ __KEY: 1, mark: next() }]],
    [
      'nested list',
      'Firm?$method=update',
      () => ({ ...stored, tasks: [{ __KEY: 1, mark: next() }] }),
    ],
    ['computation', 'Task?$method=update&$refresh=true', () => ({ ...stored, mark: next() })],
    ['computation of nothing', 'Task?$method=update&$refresh=true', () => stored],
    ['computed list', 'Task?$method=update&$refresh=true', () => [{ ...stored, mark: next() }]],
    ['key in the address', 'Task(1)?$method=update', () => ({ mark: next() })],
  ])('%s: of an existing entity, for those who may only create', async (_what, path, body) => {
    const maker = await loggedIn(server, { privileges: ['maker'] });
    expect(await seen(maker, path, body())).toMatchObject({ code: [], isRefused: true });
  });

  it.each([
    ['argument', 'Task/take', [{ ...task, mark: 'x' }]],
    ['save', 'Task?$method=update', { mark: 'x' }],
    ['validation', 'Task?$method=validate', [{ mark: 'x' }]],
    ['nested list', 'Firm?$method=update', { ...stored, tasks: [{ mark: 'x' }] }],
    ['computation', 'Task?$method=update&$refresh=true', { mark: 'x' }],
  ])('%s: of a new entity, for those who may only change', async (_what, path, body) => {
    const changer = await loggedIn(server, { privileges: ['changer'] });
    expect(await seen(changer, path, body)).toMatchObject({ code: [], isRefused: true });
  });

  it('for those who may change an entity', async () => {
    for (const path of ['Task/take', 'Task?$method=update&$refresh=true', 'Task?$method=update']) {
      const entity = { ...stored, mark: next() };
      const body = path === 'Task/take' ? [{ ...task, ...entity }] : entity;
      expect(await seen(owner, path, body), path).toMatchObject({
        status: 200,
        code: expect.arrayContaining(['mark']) as unknown,
        isRefused: false,
      });
    }
  });

  it.each([
    ['argument', 'Task/take', () => [{ ...task, mark: 'x', grade: 'y' }]],
    ['changed argument', 'Task/take', () => [{ ...task, __KEY: 1, mark: 'x', grade: 'y' }]],
    ['selection as an argument', 'Task/takeAll', () => [{ ...tasks(), mark: 'b', grade: 'y' }]],
    ['save', 'Task?$method=update', () => ({ mark: 'x', grade: 'y' })],
    ['change', 'Task?$method=update', () => ({ ...stored, mark: 'x', grade: 'y' })],
    ['validation', 'Task?$method=validate', () => [{ mark: 'x', grade: 'y' }]],
  ])('%s: with an attribute of privileges of its own', async (_what, path, body) => {
    const both = await loggedIn(server, { privileges: ['maker', 'changer'] });
    expect(await seen(both, path, body())).toMatchObject({ code: [], isRefused: true });
  });
});
