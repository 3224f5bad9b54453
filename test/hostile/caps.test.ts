import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
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
    allowed: [{ applyTo: Note, type: dataclass, create: [write] }]
`;

let app: FastifyInstance;

afterEach(() => app.close());

/** @returns a user of a server with 100 notes */
async function started(environment: Record<string, string>): Promise<Client> {
  app = await rolesServerOf(model, { environment });
  const user = await loggedIn(app, { privileges: ['write'] });
  const notes = Array.from({ length: 100 }, (_, index) => ({ text: `note ${index}` }));
  await user.post('/rest/Note?$method=update', notes);
  return user;
}

async function newSet(client: Client): Promise<string> {
  const response = await client.get('/rest/Note?$filter=ID > 10&$method=entityset&$top=1');
  expect(response.statusCode, response.body).toBe(200);
  return response.json<{ __ENTITYSET: string }>().__ENTITYSET;
}

describe('Entity sets at their limit', () => {
  /** 20 sets, each of a kilobyte and the keys of 90 entities. */
  const environment = { ENTITY_SET_MEMORY: '29000' };

  it('of a user stay, however many sets guests create', async () => {
    const user = await started(environment);
    const sets = [await newSet(user), await newSet(user)];
    const guest = new Client(app);
    const ofGuest = await newSet(guest);
    for (let made = 0; made < 100; made += 1) await newSet(guest);
    expect((await guest.get(ofGuest)).statusCode).toBe(404);
    for (const set of sets) expect((await user.get(set)).json()).toMatchObject({ __COUNT: 90 });
  });

  it('of a user replace those of guests first, then those of other users', async () => {
    const user = await started(environment);
    const guest = new Client(app);
    const ofGuest = await newSet(guest);
    const first = await newSet(user);
    for (let made = 0; made < 19; made += 1) await newSet(user);
    expect((await guest.get(ofGuest)).statusCode).toBe(404);
    expect((await user.get(first)).statusCode).toBe(200);
    for (let made = 0; made < 30; made += 1) await newSet(user);
    expect((await user.get(first)).statusCode).toBe(404);
    // A guest can still have one.
    expect((await guest.get(await newSet(guest))).statusCode).toBe(200);
  });

  it('are listed correctly by $info while others are created', async () => {
    const user = await started(environment);
    const guest = new Client(app);
    const work = Array.from({ length: 60 }, async (_, index) => {
      await newSet(index % 2 === 0 ? guest : user);
      const info = (await user.get('/rest/$info')).json<{
        cacheSize: number;
        usedCache: number;
        entitySetCount: number;
        entitySet: readonly unknown[];
      }>();
      expect(info.cacheSize).toBe(29_000);
      expect(info.usedCache).toBeLessThanOrEqual(info.cacheSize);
      expect(info.entitySet).toHaveLength(info.entitySetCount);
    });
    await Promise.all(work);
  });
});

describe('Sessions at their limit', () => {
  it('of guests keep no user from logging in, and those of users no guest', async () => {
    const user = await started({ MAX_GUEST_SESSIONS: '3', MAX_SESSIONS: '2' });
    const guests = Array.from({ length: 6 }, () => new Client(app));
    const answers = await Promise.all(
      guests.map((guest, index) => guest.get(`/rest/Note(${index + 1})?$lock=true`)),
    );
    const statuses = answers.map(({ statusCode }) => statusCode);
    // Which of them come first is the database's affair.
    expect(statuses.toSorted()).toEqual([200, 200, 200, 402, 402, 402]);
    expect((await guests[statuses.indexOf(402)]?.get('/rest/Note(1)'))?.statusCode).toBe(200);
    const second = await loggedIn(app, { privileges: ['write'] });
    await expect(loggedIn(app, { privileges: ['write'] })).rejects.toThrow('1823');
    await second.post('/rest/$directory/logout');
    await loggedIn(app, { privileges: ['write'] });
    expect((await user.get('/rest/$directory/currentUser')).json()).toMatchObject({
      result: { userName: 'mia' },
    });
  });
});
