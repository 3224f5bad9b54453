import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../support/cookies.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';

// Two servers that differ only in what a session may not see answer it alike: with the one, something
// exists that may not be read; with the other, it does not exist.

const hidden = {
  attributes: `
      salary: number
      monthlyPay: { type: number, unique: true, restName: Monthly pay € }
      photo: image
      boss: { to: Boss }
      bossName: { alias: boss.name }
      rank: { alias: team.rank }`,
  ofTeam: `
      rank: integer`,
  dataclass: `
  Boss:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string`,
  permissions: `
      - { applyTo: Person.salary, type: attribute, read: [pay], create: [pay] }
      - { applyTo: Person.monthlyPay, type: attribute, read: [pay], create: [pay] }
      - { applyTo: Person.photo, type: attribute, read: [pay], create: [pay] }
      - { applyTo: Person.boss, type: attribute, create: [pay] }
      - { applyTo: Person.bossName, type: attribute, read: [pay] }
      - { applyTo: Person.rank, type: attribute, read: [pay] }
      - { applyTo: Team.rank, type: attribute, read: [pay], create: [pay] }
      - { applyTo: Boss, type: dataclass, read: [pay], create: [pay] }`,
};

function modelWith({ attributes, ofTeam, dataclass, permissions }: typeof hidden): string {
  return `
drs: 1
name: alike
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      team: { to: Team, inverse: people }${attributes}
  Team:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      people: { to: Person, many: true, inverse: team }${ofTeam}${dataclass}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: pay }]
  permissions:
    allowed:
      - { applyTo: Team.name, type: attribute, read: [view] }${permissions}
`;
}

const nothing = { attributes: '', ofTeam: '', dataclass: '', permissions: '' };

/** Names that exist at one of the servers, or at none. */
const names = [
  'salary',
  'Monthly pay €',
  '[Monthly pay €]',
  '"Monthly pay €"',
  'Monthly',
  'photo',
  'boss',
  'boss.name',
  'boss.ID',
  'bossName',
  'rank',
  'team.rank',
  'team.people.salary',
  'team.people.boss.name',
  'unknown',
  'Boss',
  '__KEY.salary',
];

type Probe = (name: string) => readonly ['GET' | 'POST', string, unknown?];

const filterOf =
  (text: (name: string) => string): Probe =>
  (name) => ['GET', `/rest/Person?$filter=${encodeURIComponent(text(name))}`];
const asked =
  (address: string, parameter: string, text: (name: string) => string = (name) => name): Probe =>
  (name) => ['GET', `${address}?${parameter}=${encodeURIComponent(text(name))}`];
const saved =
  (url: string, body: (name: string) => unknown): Probe =>
  (name) => ['POST', url, body(name)];

const probes: readonly Probe[] = [
  filterOf((name) => `${name} = 1`),
  filterOf((name) => `${name} > "a" or name = "Ada"`),
  filterOf((name) => `${name} is null`),
  filterOf((name) => `not(${name} = null)`),
  filterOf((name) => `name = "Ada" order by ${name}`),
  asked('/rest/Person', '$orderby'),
  asked('/rest/Person', '$orderby', (name) => `name, ${name} desc`),
  asked('/rest/Person', '$attributes'),
  asked('/rest/Person', '$attributes', (name) => `${name}.*`),
  asked('/rest/Person(1)', '$attributes'),
  asked('/rest/Person', '$expand'),
  asked('/rest/Person(1)', '$expand', (name) => `team, ${name}`),
  asked('/rest/Person', '$expand', (name) => `team($attributes=${name})`),
  asked('/rest/Team', '$expand', (name) => `people($filter=${name} = 1)`),
  asked('/rest/Team', '$expand', (name) => `people($orderby=${name})`),
  asked('/rest/Person', '$groupby'),
  asked('/rest/Person', '$groupby=name&$compute', (name) => `max(${name})`),
  asked('/rest/Person', '$format=report&$attributes'),
  asked('/rest/Person', '$cursor=true&$orderby'),
  asked('/rest/Person', '$queryplan=true&$querypath=true&$filter', (name) => `${name} = 1`),
  asked('/rest/Person', '$method=entityset&$filter', (name) => `${name} = 1`),
  asked('/rest/Person', '$method=entityset&$orderby'),
  asked('/rest/Person(1)', '$method=subentityset&$subOrderby'),
  (name) => ['GET', `/rest/Person/${encodeURIComponent(name)}`],
  (name) => ['GET', `/rest/Person(1)/${encodeURIComponent(name)}`],
  (name) => [
    'GET',
    `/rest/Person(1)/${encodeURIComponent(name)}?$expand=${encodeURIComponent(name)}`,
  ],
  (name) => ['GET', `/rest/Person(1)/${encodeURIComponent(name)}?$method=subentityset`],
  (name) => ['GET', `/rest/Person/${encodeURIComponent(name)}?$compute=sum`],
  (name) => ['GET', `/rest/Person/${encodeURIComponent(name)}?$distinct=true`],
  (name) => ['GET', `/rest/Person:${encodeURIComponent(name)}(1)`],
  (name) => ['GET', `/rest/$catalog/${encodeURIComponent(name)}`],
  (name) => ['POST', `/rest/Person(1)/${encodeURIComponent(name)}?$rawPict=image`, 'x'],
  (name) => ['POST', `/rest/Person(1)/${encodeURIComponent(name)}`, []],
  saved('/rest/Person?$method=update', (name) => ({ __KEY: '1', __STAMP: 1, [name]: 5 })),
  saved('/rest/Person?$method=update', (name) => ({ __KEY: '1', __STAMP: 1, [name]: null })),
  saved('/rest/Person?$method=update', (name) => ({ __KEY: '1', __STAMP: 9, [name]: 'x' })),
  saved('/rest/Person?$method=validate', (name) => ({ __KEY: '1', __STAMP: 1, [name]: [] })),
  saved('/rest/Person?$method=update', (name) => ({ __KEY: '1', __STAMP: 1, team: { [name]: 1 } })),
  saved('/rest/Team?$method=update', (name) => ({
    __KEY: '1',
    __STAMP: 1,
    people: [{ [name]: 5 }],
  })),
  (name) => [
    'POST',
    `/rest/Person?$method=update&$upsert=${encodeURIComponent(name)}`,
    [{ [name]: 1 }],
  ],
  (name) => [
    'POST',
    `/rest/Person?$method=update&$filter=${encodeURIComponent(`${name} = 1`)}`,
    { name: 'Ada' },
  ],
  (name) => ['POST', `/rest/Person?$method=delete&$filter=${encodeURIComponent(`${name} = 1`)}`],
  saved('/rest/Person', (name) => ({ $filter: `${name} = :1`, $params: [1] })),
];

describe('Two servers that differ in what a session may not read', () => {
  let servers: readonly FastifyInstance[] = [];

  beforeAll(async () => {
    servers = [await rolesServerOf(modelWith(hidden)), await rolesServerOf(modelWith(nothing))];
    for (const app of servers) {
      const client = new Client(app);
      const teams = await client.post('/rest/Team?$method=update', [{ name: 'one' }]);
      expect(teams.statusCode).toBe(200);
      const people = [
        { name: 'Ada', team: 1 },
        { name: 'Bob', team: 1 },
      ];
      expect((await client.post('/rest/Person?$method=update', people)).statusCode).toBe(200);
    }
  });
  afterAll(async () => {
    for (const each of servers) await each.close();
  });

  /** What differs by chance: sets, times and stamps. */
  function told(body: string): string {
    return body
      .replaceAll(/[0-9A-F]{32}/g, '<set>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"__GlobalStamp":\d+/g, '"__GlobalStamp":0')
      .replaceAll(/"(?:time|executionTime)":\d+/g, '"time":0');
  }

  async function answered(client: Client, probe: ReturnType<Probe>): Promise<unknown> {
    const [method, url, body = []] = probe;
    const { statusCode, body: text } = await (method === 'GET'
      ? client.get(url)
      : client.post(url, body as object));
    return { probe, statusCode, body: told(text) };
  }

  it.each(['a guest', 'a user'] as const)('answers %s alike', async (who) => {
    const [one, other] = await Promise.all(
      servers.map((app) =>
        who === 'a guest' ? new Client(app) : loggedIn(app, { privileges: ['view'] }),
      ),
    );
    if (one === undefined || other === undefined) throw new Error('Two servers run.');
    const refused = new Set<number>();
    for (const probe of probes) {
      for (const name of names) {
        const wanted = probe(name);
        const expected = (await answered(other, wanted)) as { readonly statusCode: number };
        expect(await answered(one, wanted)).toEqual(expected);
        expect(expected.statusCode).toBeLessThan(500);
        refused.add(expected.statusCode);
      }
    }
    expect([...refused].sort()).toContain(400);
    for (const url of ['/rest/$catalog', '/rest/$catalog/$all', '/rest/Person', '/rest/Team(1)']) {
      expect(await answered(one, ['GET', url])).toEqual(await answered(other, ['GET', url]));
    }
  });

  it('answers who may read it as it is', async () => {
    const [one] = servers;
    const payer = await loggedIn(one as FastifyInstance, { privileges: ['pay'] });
    expect((await payer.get('/rest/Person?$filter="salary = 1"')).statusCode).toBe(200);
    expect((await payer.get('/rest/Person?$orderby=Monthly pay €')).statusCode).toBe(200);
  });
});
