import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { found } from './found.js';

const model = `
drs: 1
name: films
dataclasses:
  Film:
    attributes:
      ID: { type: integer, key: true }
      roles: { to: Role, many: true, inverse: film }
  Role:
    attributes:
      ID: { type: integer, key: true }
      pay: number
      film: { to: Film }
      actor: { to: Actor }
  Actor:
    attributes:
      ID: { type: integer, key: true }
      last: string
      roles: { to: Role, many: true, inverse: actor }
      agent: { to: Actor }
      clients: { to: Actor, many: true, inverse: agent }
`;

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await create(app, 'Film', [{ ID: 1 }, { ID: 2 }, { ID: 3 }]);
  await create(app, 'Actor', [
    { ID: 1, last: 'Lee' },
    { ID: 2, last: 'Ray', agent: 1 },
    { ID: 3, last: 'Kim', agent: 1 },
  ]);
  await create(app, 'Role', [
    { ID: 1, film: 1, actor: 1, pay: 5 },
    { ID: 2, film: 1, actor: 2, pay: 7 },
    { ID: 3, film: 2, actor: 1, pay: 7 },
    { ID: 4, film: 2, actor: 3, pay: 9 },
    { ID: 5, film: 3, pay: 5 },
  ]);
});
afterAll(() => app.close());

describe('Numbers in braces after relations', () => {
  it.each<readonly [filter: string, found: string]>([
    ["roles.actor.last = 'Lee' AND roles.actor.last = 'Ray'", ''],
    ["roles.actor.last = 'Lee' AND roles.actor{2}.last = 'Ray'", '1'],
    ["roles.actor.last = 'Lee' AND roles{2}.actor.last = 'Kim'", '2'],
    ["roles.actor{1}.last = 'Lee' AND roles.actor.last = 'Ray'", ''],
    ['roles.actor = 1 AND roles.actor{2} = 3', '2'],
    ['roles.actor = 1 AND roles.actor = 3', ''],
    ['roles.pay = 5 AND roles{2}.pay = 7 AND roles{2}.actor = 2', '1'],
    ['roles.pay = 5 AND roles{2}.pay = 7 AND roles{3}.actor = 1', '1'],
    ['roles{2}.pay = 5 AND roles{2}.actor = null', '3'],
    ["roles.actor.agent.last = 'Lee' AND roles.actor{2}.last = 'Lee'", '1,2'],
    ["roles.actor.clients.last = 'Ray' AND roles.actor.clients.last = 'Kim'", ''],
    ["roles.actor.clients.last = 'Ray' AND roles.actor.clients{2}.last = 'Kim'", '1,2'],
    ['roles{2}.pay != 5', '2'],
    ['NOT (roles.pay = 5 AND roles{2}.pay = 7)', '2,3'],
  ])('mean different entities: %s finds %j', async (filter, expected) => {
    expect(await found(app, 'Film', filter)).toBe(expected);
  });

  it('have no effect after a to-one relation of the entity itself', async () => {
    expect(await found(app, 'Actor', "agent.last = 'Lee' AND agent{2}.last = 'Lee'")).toBe('2,3');
  });
});

describe('A filter that follows very many relations', () => {
  const chain = (length: number): string =>
    `${Array.from({ length }, (_, at) => (at % 2 === 0 ? 'agent' : 'clients')).join('.')}.last`;

  const many = (count: number, path: string): string =>
    Array.from({ length: count }, (_, at) => `roles{${at + 2}}.${path} = ${at}`).join(' OR ');

  it('is answered up to the limits', async () => {
    expect(await found(app, 'Actor', many(500, 'actor.last'))).toBe('');
    expect(await found(app, 'Actor', `${'agent.'.repeat(60)}last = null`)).toBe('1,2,3');
    expect(await found(app, 'Actor', `${chain(40)} = 'Ray'`)).toBe('2,3');
    expect(await found(app, 'Actor', `${'clients.'.repeat(20)}last = null`)).toBe('');
    const all = Array.from({ length: 200 }, (_, at) => `roles{${at + 2}}.pay > ${at - 500}`);
    expect(await found(app, 'Actor', all.join(' AND '))).toBe('1,2,3');
    const nested = `${'NOT('.repeat(64)}${'clients.'.repeat(20)}last != 'x'${')'.repeat(64)}`;
    expect(await found(app, 'Actor', nested)).toBe('1,2,3');
  });

  it('is refused beyond the limits', async () => {
    expect(await found(app, 'Actor', many(400, 'actor.agent.last'))).toMatch(
      /^1162: Character \d+ of \$filter: the filter follows more than 1000 relations and arrays/,
    );
    expect(await found(app, 'Actor', `${'agent.'.repeat(61)}last = null`)).toMatch(
      /^1162: .* more than 60 to-one relations of one entity/,
    );
    for (const path of ['clients.'.repeat(21), chain(42).slice(0, -4)]) {
      expect(await found(app, 'Actor', `${path}last = null`)).toMatch(
        /^1162: .*at most 20 to-many/,
      );
    }
  });

  it('is refused with an order, too', async () => {
    const order = Array.from({ length: 3 }, (_, at) => `${'agent.'.repeat(at + 20)}last`).join();
    expect(await found(app, 'Actor', 'ID > 0', undefined, order)).toBe('1,2,3');
    const long = `${'agent.'.repeat(61)}last`;
    expect(await found(app, 'Actor', 'ID > 0', undefined, long)).toMatch(/^1810: .*more than 60/);
  });
});

describe('A path that goes back and forth', () => {
  let owners: FastifyInstance;

  beforeAll(async () => {
    owners = await serverOf(model);
    await create(owners, 'Film', [{ ID: 1 }, { ID: 2 }, { ID: 3 }]);
    await create(
      owners,
      'Role',
      Array.from({ length: 16 }, (_, at) => ({ ID: at + 1, film: at === 15 ? 2 : 1, pay: at })),
    );
    await create(owners, 'Role', [{ ID: 17, pay: 17 }]);
  });
  afterAll(() => owners.close());

  // The number of paths to the end is that of the combinations of roles, 15^20.
  it.each([
    [`${'roles.film.'.repeat(20)}ID = 9`, ''],
    [`${'roles.film.'.repeat(20)}ID != 9`, '1,2,3'],
    [`${'roles.film.'.repeat(20)}ID = 1`, '1'],
    [`${'roles.film.'.repeat(20)}ID != 1`, '2,3'],
    [`${'roles.film.'.repeat(3)}roles.pay >= 15`, '2'],
    [`NOT (${'roles.film.'.repeat(3)}roles.pay >= 15)`, '1,3'],
    [`${'roles.film.'.repeat(3)}roles.actor = null`, '1,2'],
    [`${'roles.film.'.repeat(3)}roles.actor != null`, '3'],
  ])('is followed with bounded work: %s', async (filter, expected) => {
    expect(await found(owners, 'Film', filter)).toBe(expected);
  });
});
