import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: mail
protocol: { wildcard: true }
dataclasses:
  Letter:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      owner: string
    restrict: true
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }]
`;

const letter = `
import { LetterBase, type Restriction, type Session } from '../generated/api.js';
export class Letter extends LetterBase {
  restrict(session: Session): Restriction {
    if (session.userName === 'team') return 'owner = "a@"';
    if (session.userName === 'bob@') return { filter: 'owner in ["axx@", :1]', values: [session.userName] };
    if (session.userName.startsWith('two')) return { filter: 'owner in :1', values: [[session.userName, 'b*']] };
    return { filter: 'owner = :1', values: [session.userName] };
  }
}
`;

let app: FastifyInstance;
beforeAll(async () => {
  app = await rolesServerOf(model, {}, { 'src/classes/Letter.ts': letter });
  const { datastore } = app as unknown as {
    datastore: { Letter: { new: (values: object) => { save(): Promise<void> } } };
  };
  for (const owner of ['a@b.com', 'axxb.com', 'two@', 'two of them', 'b*', 'bob', 'bob@']) {
    await datastore.Letter.new({ owner }).save();
  }
});
afterAll(() => app.close());

/** The owners of the letters that a user can see. */
async function ownersFor(user: string, filter = ''): Promise<readonly unknown[]> {
  const client = new Client(app);
  expect((await client.post('/rest/$directory/login', [user, '{}', 3600])).statusCode).toBe(200);
  const response = await client.get(`/rest/Letter${filter}`);
  const { __ENTITIES } = response.json<{ __ENTITIES: { readonly owner: string }[] }>();
  return __ENTITIES.map(({ owner }) => owner);
}

it('A value in restrict has no wildcards: a user does not see what belongs to others', async () => {
  expect(await ownersFor('a@b.com')).toEqual(['a@b.com']);
  expect(await ownersFor('@')).toEqual([]);
  expect(await ownersFor('two@')).toEqual(['two@', 'b*']);
});

it('The text of a filter in restrict has wildcards, like the filters of clients', async () => {
  expect(await ownersFor('team')).toEqual(['a@b.com', 'axxb.com']);
  const filter = `?$filter=${encodeURIComponent('owner = :1')}&$params=${encodeURIComponent('["axx@"]')}`;
  expect(await ownersFor('team', filter)).toEqual(['axxb.com']);
});

it('A list in restrict has wildcards in the texts that are written in the filter, and none in values', async () => {
  expect(await ownersFor('bob@')).toEqual(['axxb.com', 'bob@']);
});
