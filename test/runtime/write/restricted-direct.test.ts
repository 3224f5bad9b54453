import { Client as PostgresClient } from 'pg';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Client } from '../../support/cookies.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { rolesServerOf } from '../../support/roles-server.js';
import { modelOf } from '../../support/server.js';

const modelWith = (restrict: string): string => `drs: 1
name: direct
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, unique: true }
      size: { type: integer, max: 1000 }
      upper: { computed: string, expression: 'upper(name)' }
      boss: { to: Person, foreignKey: bossID }
      bossID: { type: integer, exposed: false }
      bossName: { alias: boss.name }
      house: { to: House, foreignKey: houseID }
      houseID: { type: integer, exposed: false }
      houseName: { alias: house.name }
    restrict: ${restrict}
  House:
    attributes:
      ID: { type: integer, key: true }
      name: string
      size: integer
    restrict: true
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }]
`;

const classes = {
  'src/classes/Person.ts': `
import { PersonBase, type Restriction, type Session } from '../generated/api.js';
export class Person extends PersonBase {
  restrict(session: Session): Restriction {
    if (session.userName === 'all') return null;
    if (session.userName === 'led') return 'boss.size < 500 or size < 500';
    return { filter: 'size < :1', values: [session.userName === 'low' ? 100 : 500] };
  }
}
`,
  'src/classes/House.ts': `
import { HouseBase, type Restriction, type Session } from '../generated/api.js';
export class House extends HouseBase {
  restrict(session: Session): Restriction {
    return session.userName === 'all' ? null : { filter: 'size < :1', values: [10] };
  }
}
`,
};

const people = [
  { name: 'Ann', size: 1, house: 1 },
  { name: 'Bob', size: 2, boss: 1, house: 2 },
  { name: 'Cid', size: 300, boss: 1 },
  { name: 'Dan', size: 4, boss: 3 },
];

const houses = [
  { ID: 1, name: 'Elm', size: 1 },
  { ID: 2, name: 'Oak', size: 99 },
];

const url = '/rest/Person?$method=update';

type Body = Readonly<Record<string, unknown>>;

/** Changes by a session that sees people below 100, and what is special about each. */
const changes: readonly (readonly [string, Body])[] = [
  ['changes a visible entity', { __KEY: 1, __STAMP: 1, size: 5 }],
  ['shows no hidden related entity', { __KEY: 4, __STAMP: 1, name: 'Don' }],
  ['shows no value of a hidden related entity', { __KEY: 2, __STAMP: 1, size: 6 }],
  ['moves to a visible related entity', { __KEY: 4, __STAMP: 2, boss: 2, house: 1 }],
  ['moves to itself', { __KEY: 1, __STAMP: 2, boss: 1 }],
  ['changes an entity that is related to itself', { __KEY: 1, __STAMP: 3, name: 'Anna' }],
  ['moves away from itself', { __KEY: 1, __STAMP: 4, boss: null }],
  ['changes no hidden entity', { __KEY: 3, __STAMP: 1, size: 7 }],
  ['changes nothing that has another stamp', { __KEY: 4, __STAMP: 1, size: 8 }],
  ['changes nothing that is stored', { __KEY: 4, __STAMP: 3, size: 4 }],
  ['refuses a wrong value', { __KEY: 4, __STAMP: 3, size: 1001 }],
  ['refuses a taken value', { __KEY: 4, __STAMP: 3, name: 'BOB' }],
  ['refuses a hidden related entity', { __KEY: 4, __STAMP: 3, boss: 3 }],
  ['hides what it stores', { __KEY: 4, __STAMP: 3, size: 100 }],
  ['creates a visible entity', { name: 'Eve', size: 9, boss: 1 }],
  ['creates a hidden entity', { name: 'Fay', size: 900 }],
  ['creates an entity without a value that is compared', { name: 'Gus' }],
];

describePostgres('Saves by one statement, of dataclasses with restrict,', () => {
  for (const restrict of ['true', '{ writes: true }']) {
    describe(`restrict: ${restrict},`, () => {
      let database: TestDatabase;
      const apps: FastifyInstance[] = [];

      beforeAll(async () => {
        database = await postgresDatabase();
        const model = modelOf(modelWith(restrict));
        apps.push(
          await rolesServerOf({ ...model, databases: ['sqlite'] }, {}, classes),
          await rolesServerOf(
            { ...model, databases: ['postgres'] },
            { databaseUrl: database.url, environment: { DATABASE_POOL: '2' } },
            classes,
          ),
        );
        for (const app of apps) {
          const all = await clientOf(app, 'all');
          await all.post('/rest/House?$method=update', houses);
          await all.post(url, people);
        }
      });
      afterAll(async () => {
        await Promise.all(apps.map((app) => app.close()));
        await database.drop();
      });

      it('are answered, and store, as those in several statements', async () => {
        const answers = await Promise.all(apps.map((app) => answersOf(app, 'low')));
        expect(answers[1]).toEqual(answers[0]);
        const hidden = answers[1]?.find(([what]) => what === 'hides what it stores');
        const isRefused = restrict !== 'true';
        expect(hidden?.[1]).toBe(isRefused ? 403 : 200);
        if (!isRefused) {
          expect(hidden?.[2]).toEqual({ uri: '/rest/Person(4)', __KEY: '4', __STAMP: 4 });
        }
      });

      it('are one statement if no condition reads another row', async () => {
        const app = apps[1] as FastifyInstance;
        const all = await clientOf(app, 'all');
        const [low, led] = [await clientOf(app, 'low'), await clientOf(app, 'led')];
        const save = async (client: Client, size: number): Promise<readonly string[]> => {
          const { __STAMP } = (await all.get('/rest/Person(2)')).json<{ __STAMP: number }>();
          return statements(() => client.post(url, { __KEY: 2, __STAMP, size }));
        };
        await save(low, 20);
        for (const size of [21, 22]) expect(await save(low, size)).toEqual(['with']);
        expect(await save(all, 23)).toEqual(['with']);
        const checks = restrict === 'true' ? [] : ['select'];
        expect(await save(led, 24)).toEqual(['update', ...checks, 'select']);
      });
    });
  }

  async function clientOf(app: FastifyInstance, name: string): Promise<Client> {
    const client = new Client(app);
    const credentials = [name, JSON.stringify({ privileges: ['all'] }), 3600];
    await client.post('/rest/$directory/login', credentials);
    return client;
  }

  /** The answer to each change, and what is stored in the end. */
  async function answersOf(
    app: FastifyInstance,
    name: string,
  ): Promise<readonly (readonly [string, number, unknown])[]> {
    const client = await clientOf(app, name);
    const answers: [string, number, unknown][] = [];
    for (const [what, body] of changes) {
      const { statusCode, body: text } = await client.post(url, body);
      answers.push([what, statusCode, JSON.parse(withoutTimes(text))]);
    }
    const all = await clientOf(app, 'all');
    const { body } = await all.get('/rest/Person?$orderby=ID');
    return [...answers, ['stores', 200, JSON.parse(withoutTimes(body))]];
  }

  function withoutTimes(json: string): string {
    return json.replaceAll(/"__TIMESTAMP":"[^"]*"/g, '"__TIMESTAMP":""');
  }

  /** The first words of the statements of a request that name the table. */
  async function statements(work: () => Promise<unknown>): Promise<readonly string[]> {
    const query = vi.spyOn(PostgresClient.prototype, 'query');
    try {
      await work();
      return query.mock.calls
        .map(([given]) => given as unknown as string | { readonly text: string })
        .map((given) => (typeof given === 'string' ? given : given.text))
        .filter((text) => text.includes('"Person"'))
        .map((text) => /^\w+/.exec(text)?.[0] ?? text);
    } finally {
      query.mockRestore();
    }
  }
});
