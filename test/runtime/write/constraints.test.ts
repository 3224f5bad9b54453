import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { create, isOnPostgres, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: computed
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      day: { computed: string, expression: "date(text)" }
      number: { computed: number, expression: "text" }
      json: { computed: object, expression: "text" }
      a: { computed: string, expression: "iif(text like '{%', json_extract(text, '$.a'), null)" }
${isOnPostgres ? '' : `      infinite: { computed: number, expression: "iif(text = 'x', 9e999, 1)" }`}
`;

describe('Computed attributes with an expression', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
  });
  afterAll(() => app.close());

  function post(body: unknown): Promise<Response> {
    return app.inject({
      method: 'POST',
      url: '/rest/Note?$method=update',
      payload: JSON.stringify(body),
    });
  }

  it.each<readonly [string | null, object]>([
    ['x', { number: null, json: null, ...(isOnPostgres ? {} : { infinite: null }) }],
    ['12', { number: 12, json: 12, ...(isOnPostgres ? {} : { infinite: 1 }) }],
    ['{"a":"b"}', { number: null, json: { a: 'b' }, a: 'b' }],
    ['"', { number: null, json: null }],
    [null, { number: null, json: null, day: null }],
  ])('are valid JSON whatever the expression returns: %j', async (text, wanted) => {
    const [note] = await create(app, 'Note', [{ text }]);
    expect(note).toMatchObject(wanted);
  });

  it.runIf(isOnPostgres)('are null for the word now, which SQLite refuses', async () => {
    const [note] = await create(app, 'Note', [{ text: 'now' }]);
    expect(note).toMatchObject({ day: null });
  });

  it.each(isOnPostgres ? ['{'] : ['now', '{'])(
    'refuse values for which the expression fails: %j',
    async (text) => {
      const response = await post({ text });
      expect(response.statusCode).toBe(422);
      const { __STATUS, __ERROR } = response.json<{
        readonly __STATUS: object;
        readonly __ERROR: readonly object[];
      }>();
      expect(__STATUS).toMatchObject({ status: 8 });
      expect(__ERROR[0]).toMatchObject({ errCode: 1569 });
    },
  );

  it('refuse one entity of a list and keep the others', async () => {
    const before = await count();
    const response = await post([{ text: 'a' }, { text: '{' }, { text: 'b' }]);
    expect(response.statusCode).toBe(200);
    expect(await count()).toBe(before + 2);
  });

  async function count(): Promise<number> {
    const response = await app.inject('/rest/Note?$top=0');
    return response.json<{ readonly __COUNT: number }>().__COUNT;
  }
});

describe('A constraint over a column with an unusual name', () => {
  it('is reported with the name of its attribute', async () => {
    const app = await serverOf(`
drs: 1
name: odd
dataclasses:
  Thing:
    table: 'a b, c: d'
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: integer, unique: true, column: 'x.y, z: q' }
`);
    await create(app, 'Thing', [{ code: 1 }]);
    const response = await app.inject({
      method: 'POST',
      url: '/rest/Thing?$method=update',
      payload: '{"code":1}',
    });
    expect(response.statusCode).toBe(409);
    const { __ERROR } = response.json<{ readonly __ERROR: readonly { message: string }[] }>();
    expect(__ERROR[0]?.message).toBe('code must be unique: another entity has this value.');
    await app.close();
  });
});

const memberships = `
drs: 1
name: clubs
database: [sqlite, postgres]
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      memberships: { to: Membership, many: true, inverse: member }
  Membership:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      member: { to: Person, inverse: memberships, onDelete: setNull }
      club: string
      note: string
    indexes: [{ unique: true, attributes: [club, member] }]
`;

interface Saved {
  readonly __KEY: string;
  readonly __STAMP: number;
}

describeDatabases('Attributes that are unique together', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let choir: Saved;
  let chess: Saved;
  beforeAll(async () => {
    database = await databases.create();
    app = await serverOf(memberships, { databaseUrl: database.url });
    await create(app, 'Person', [{}, {}]);
    choir = await member({ member: 1, club: 'Choir' });
    chess = await member({ member: 1, club: 'chess' });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  async function member(values: object): Promise<Saved> {
    const [created] = await create(app, 'Membership', [values]);
    return created as unknown as Saved;
  }

  function save(body: unknown): Promise<Response> {
    const url = '/rest/Membership?$method=update';
    return app.inject({ method: 'POST', url, payload: JSON.stringify(body) });
  }

  const refusal = {
    message: 'club and member must be unique together: another entity has these values.',
    componentSignature: 'dbmg',
    errCode: 1569,
  };

  async function expectRefused(body: unknown): Promise<void> {
    const response = await save(body);
    expect(response.statusCode, response.body).toBe(409);
    expect(response.json<{ __ERROR: readonly unknown[] }>().__ERROR[0]).toEqual(refusal);
  }

  it('are refused in a new entity if another one has these values, in any case', async () => {
    await expectRefused({ member: 1, club: 'CHOIR' });
    await expectRefused({ member: { __KEY: '1' }, club: 'choir', note: 'x' });
  });

  it('are refused in a change that gives one of them', async () => {
    await expectRefused({ __KEY: chess.__KEY, __STAMP: chess.__STAMP, club: 'choir' });
    const other = await member({ member: 2, club: 'chess' });
    await expectRefused({ __KEY: other.__KEY, __STAMP: other.__STAMP, member: 1 });
  });

  it('may be sent again with the entity that has them', async () => {
    const { __KEY, __STAMP } = choir;
    const response = await save({ __KEY, __STAMP, member: 1, club: 'CHOIR', note: 'sings' });
    expect(response.statusCode, response.body).toBe(200);
  });

  it('are no conflict while one of them is null', async () => {
    await create(app, 'Membership', [{ member: 1 }, { member: 1 }, { club: 'choir' }]);
    const freed = await member({ club: 'choir' });
    await expectRefused({ __KEY: freed.__KEY, __STAMP: freed.__STAMP, member: 1 });
  });

  it('are compared within a list, too', async () => {
    const twice = { member: 2, club: 'rowing' };
    const validated = await app.inject({
      method: 'POST',
      url: '/rest/Membership?$method=validate',
      payload: JSON.stringify([twice, { ...twice, club: 'Rowing' }]),
    });
    expect(validated.json()).toMatchObject({
      __ENTITIES: [{ club: 'Rowing', __ERROR: expect.arrayContaining([refusal]) as unknown }],
    });
    const response = await save([twice, { ...twice, club: 'Rowing' }]);
    expect(response.json()).toMatchObject({
      __ENTITIES: [{ club: 'rowing' }, { __ERROR: expect.arrayContaining([refusal]) as unknown }],
    });
  });
});
