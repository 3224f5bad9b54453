import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `drs: 1
name: direct
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, unique: true }
      size: { type: integer, max: 100 }
      note: object
      boss: { to: Person, foreignKey: bossID }
      bossID: integer
      house: { to: House, foreignKey: houseID }
      houseID: { type: integer, exposed: false }
      houseName: { alias: house.name }
      upper: { computed: string, expression: 'upper(name)' }
  Namesake:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      boss: { to: Namesake, foreignKey: bossID }
      bossID: integer
      bossName: { alias: boss.name }
  House:
    # PostgreSQL has a type of that name.
    table: point
    attributes:
      ID: { type: integer, key: true }
      name: string
`;

interface Entity {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly __ERROR?: readonly { readonly errCode: number }[];
  readonly [name: string]: unknown;
}

describePostgres('a save by one statement on PostgreSQL', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let client: Client;

  beforeAll(async () => {
    database = await postgresDatabase();
    app = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: database.url },
    );
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await app.close();
    await database.drop();
  });
  beforeEach(async () => {
    await client.query('truncate "Person", "Namesake", "point" restart identity');
    await save('House', [{ ID: 1, name: 'Elm' }]);
  });

  async function save<Body extends object>(
    dataclass: string,
    body: Body,
    more = '',
  ): Promise<Body extends readonly object[] ? readonly Entity[] : Entity> {
    const url = `/rest/${dataclass}?$method=update${more}`;
    const answer: unknown = (
      await app.inject({ method: 'POST', url, payload: JSON.stringify(body) })
    ).json();
    return (
      Array.isArray(body) ? (answer as { readonly __ENTITIES: unknown }).__ENTITIES : answer
    ) as Body extends readonly object[] ? readonly Entity[] : Entity;
  }

  async function saved(body: object): Promise<void> {
    for (const each of [await save('Person', body)].flat()) {
      expect(each).toMatchObject({ __STATUS: { success: true } });
    }
  }

  async function globalStamp(): Promise<number> {
    const page = (await app.inject('/rest/House')).json<{ readonly __GlobalStamp: number }>();
    return page.__GlobalStamp;
  }

  /** The statements of a request, without what they hold. */
  async function statements(work: () => Promise<unknown>): Promise<readonly string[]> {
    const query = vi.spyOn(Client.prototype, 'query');
    try {
      await work();
      const texts = query.mock.calls.map(([given]) => (given as unknown as { text: string }).text);
      return texts.map((text) => /^\w+/.exec(text)?.[0] ?? text);
    } finally {
      query.mockRestore();
    }
  }

  const listOf = (start: string): readonly object[] =>
    Array.from({ length: 50 }, (_, index) => ({ name: `${start} ${index}`, boss: null }));

  it('is sent at once, and without a transaction around it after others like it', async () => {
    const [ann] = await save('Person', [{ name: 'Ann', size: 1, house: 1 }, { name: 'Bob' }]);
    const change = (size: number): object => ({ __KEY: ann?.__KEY, __STAMP: size - 1, size });
    const bodies: readonly (readonly [object, readonly string[]])[] = [
      [listOf('first'), ['begin', 'with', 'commit']],
      [change(2), ['begin', 'with', 'commit']],
      [change(3), ['begin', 'with', 'commit', 'set']],
      [change(4), ['with']],
      [[{ name: 'Cid' }], ['with']],
      [{ name: 'Dan', boss: 1 }, ['with']],
      // The session may write nothing outside of a transaction again.
      [listOf('second'), ['set', 'begin', 'with', 'commit']],
      [change(5), ['begin', 'with', 'commit']],
    ];
    for (const [body, sent] of bodies) {
      expect(await statements(() => saved(body))).toEqual(sent);
    }
  });

  it('is one statement too if the server measures its statements', async () => {
    const environment = { SLOW_QUERY_MS: '60000' };
    const measuring = await serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: database.url, environment },
    );
    try {
      const payload = JSON.stringify({ name: 'Ann' });
      const url = '/rest/Person?$method=update';
      const create = (): Promise<unknown> => measuring.inject({ method: 'POST', url, payload });
      expect(await statements(create)).toEqual(['begin', 'with', 'commit']);
    } finally {
      await measuring.close();
    }
  });

  it('answers entities in the order of the body, also where it reads related ones', async () => {
    const others = `insert into "point" ("ID", "name", "__STAMP", "__TIMESTAMP")
      select i, 'house ' || i, 1, '2020-01-01T00:00:00.000Z' from generate_series(2, 3000) i`;
    await client.query(others);
    await client.query('analyze "point"');
    const bodies = Array.from({ length: 100 }, (_, index) => ({
      name: `n ${index}`,
      house: 2 + ((index * 1301) % 2999),
    }));
    const made = await save('Person', bodies);
    expect(made.map(({ name, houseName }) => [name, houseName])).toEqual(
      bodies.map(({ name, house }) => [name, `house ${house}`]),
    );
  });

  it('gives each entity a key that no other one has, or the key of the body', async () => {
    const keys = async (list: readonly object[]): Promise<readonly number[]> =>
      (await save('Person', list)).map(({ __KEY }) => Number(__KEY));
    const given = [{ name: 'Ann' }, { ID: 500, name: 'Bob' }, { name: 'Cid' }];
    expect(await keys(given)).toEqual([1, 500, 501]);
    expect(await keys([{ name: 'Dan' }, { name: 'Eve' }])).toEqual([502, 503]);
    const lists = ['a', 'b', 'c', 'd'].map((start) => keys(listOf(start)));
    const all = (await Promise.all([...lists, keys([{ ID: 600, name: 'Fay' }])])).flat();
    expect(new Set(all).size).toBe(201);
  });

  it('answers with what is stored, and counts its changes', async () => {
    const before = await globalStamp();
    const made = await save('Person', [
      { name: 'Ann', size: 1, house: 1, note: { a: [1, 'x'] } },
      { name: 'Bob "B"', boss: null },
    ]);
    expect(made).toMatchObject([
      { __KEY: '1', __STAMP: 1, name: 'Ann', size: 1, houseName: 'Elm', upper: 'ANN' },
      { __KEY: '2', __STAMP: 1, name: 'Bob "B"', boss: null, note: null },
    ]);
    expect(await globalStamp()).toBe(before + 2);
    const changed = await save('Person', { __KEY: '2', __STAMP: 1, name: 'Cid', boss: 1 });
    expect(changed).toMatchObject({
      __STATUS: { success: true },
      uri: '/rest/Person(2)',
      __STAMP: 2,
      name: 'Cid',
      upper: 'CID',
      boss: { __deferred: { __KEY: '1' } },
    });
    expect(await globalStamp()).toBe(before + 3);
    const { uri, __STATUS, ...members } = changed as Entity & { uri: string; __STATUS: object };
    const read = (await app.inject('/rest/Person(2)')).json<Entity>();
    expect(read).toEqual(members);
    expect([uri, __STATUS]).toEqual(['/rest/Person(2)', { success: true }]);
  });

  it('answers with other attributes if a request names them', async () => {
    await save('Person', [{ name: 'Ann', house: 1 }]);
    await save('Person', { __KEY: '1', __STAMP: 1, name: 'Bob' });
    const body = { __KEY: '1', __STAMP: 2, name: 'Cid' };
    const { name, size, house } = await save('Person', body, '&$attributes=name,house.name');
    expect([name, size, house]).toMatchObject(['Cid', undefined, { name: 'Elm' }]);
    const [created] = await save('Person', [{ name: 'Dan' }], '&$attributes=name');
    expect([created?.['name'], created?.['upper']]).toEqual(['Dan', undefined]);
  });

  it('shows an alias of the own dataclass as it is after the save', async () => {
    await save('Namesake', [{ name: 'old' }]);
    await save('Namesake', { __KEY: '1', __STAMP: 1, boss: 1 });
    const saved = await save('Namesake', { __KEY: '1', __STAMP: 2, name: 'new' });
    expect(saved).toMatchObject({ name: 'new', bossName: 'new' });
  });

  it('counts itself, which leaves nothing to the trigger of the table', async () => {
    // Rows above zero are those of the trigger.
    const raised = async (): Promise<{
      readonly trigger: string | null;
      readonly save: string;
    }> => {
      const { rows } = await client.query<{ trigger: string | null; save: string }>(
        `select (select sum("value") from "__version" where "table" = 'Person' and "slot" > 0) as "trigger",
          coalesce(sum("value"), 0) as "save" from "__datastore" where "name" like 'globalStamp-%'`,
      );
      return rows[0] as { trigger: string; save: string };
    };
    const [before, stamp] = [await raised(), await globalStamp()];
    await saved([{ name: 'Ann' }]);
    await saved(listOf('each'));
    for (let size = 2; size < 7; size += 1) await saved({ __KEY: '1', __STAMP: size - 1, size });
    const after = await raised();
    expect(after.trigger).toBe(before.trigger);
    expect(Number(after.save) - Number(before.save)).toBe(56);
    expect(await globalStamp()).toBe(stamp + 56);
  });

  it('does not wait for a save of another entity that has not ended', async () => {
    await saved([
      { name: 'Ann', size: 1 },
      { name: 'Bob', size: 1 },
    ]);
    // The save waits behind all that it does itself.
    await client.query(`create function "hold"() returns trigger language plpgsql as
        $$begin if new."size" = 77 then perform pg_advisory_xact_lock(77); end if; return null; end$$;
      create trigger "hold" after update on "Person" for each row execute function "hold"();
      select pg_advisory_lock(77)`);
    const held = saved({ __KEY: '1', __STAMP: 1, size: 77 });
    for (let look = 0; look < 1000; look += 1) {
      const waits = `select from pg_locks where locktype = 'advisory' and not granted`;
      if ((await client.query(waits)).rowCount === 1) break;
    }
    const before = await globalStamp();
    await saved({ __KEY: '2', __STAMP: 1, size: 2 });
    await saved(listOf('each'));
    expect(await globalStamp()).toBe(before + 51);
    await client.query('select pg_advisory_unlock(77)');
    await held;
    expect(await globalStamp()).toBe(before + 52);
    await client.query('drop trigger "hold" on "Person"; drop function "hold"');
  });

  describe('that cannot be made', () => {
    it('reports why, and stores what can be stored', async () => {
      await save('Person', [{ name: 'Ann' }]);
      const before = await globalStamp();
      const [first, taken, wrong, related] = await save('Person', [
        { name: 'Bob' },
        { name: 'ANN' },
        { name: 'Cid', size: 101 },
        { name: 'Dan', house: 7 },
      ]);
      expect(first).toMatchObject({ name: 'Bob', __STAMP: 1 });
      for (const each of [taken, wrong, related]) expect(each).toHaveProperty('__ERROR');
      expect(await globalStamp()).toBe(before + 1);
      const taking = [{ name: 'Eve' }, { name: 'Ann' }];
      const [undone] = await save('Person', taking, '&$atomic=true');
      expect(undone).toEqual({ name: 'Eve' });
      const page = (await app.inject('/rest/Person')).json<{ readonly __COUNT: number }>();
      expect(page.__COUNT).toBe(2);
    });

    it('leaves a change of another stamp alone, and one that changes nothing', async () => {
      await save('Person', [{ name: 'Ann' }]);
      const before = await globalStamp();
      const stale = await save('Person', { __KEY: '1', __STAMP: 7, name: 'Bob' });
      expect(stale).toMatchObject({ __STATUS: { success: false }, name: 'Ann', __STAMP: 1 });
      const same = await save('Person', { __KEY: '1', __STAMP: 1, name: 'Ann' });
      expect(same).toMatchObject({ __STATUS: { success: true }, __STAMP: 1 });
      expect(await save('Person', { __KEY: '9', __STAMP: 1, name: 'Bob' })).toHaveProperty(
        '__ERROR',
      );
      expect(await globalStamp()).toBe(before);
    });

    it('refuses a relation to an entity that the same list creates later', async () => {
      const [ahead, itself, back] = await save('Person', [
        { name: 'Ann', boss: 2 },
        { name: 'Bob', bossID: null },
        { name: 'Cid', boss: 2 },
      ]);
      expect(ahead).toHaveProperty('__ERROR');
      expect(itself).not.toHaveProperty('__ERROR');
      const bob = Number(itself?.__KEY);
      const answer = (await app.inject(`/rest/Person(${bob})`)).json<Entity>();
      expect(answer).toMatchObject({ name: 'Bob' });
      expect(back === undefined).toBe(false);
    });

    it('refuses a text with U+0000', async () => {
      const body = JSON.stringify([{ name: 'Bob' }, { name: 'a\0b' }]);
      const url = '/rest/Person?$method=update';
      const { statusCode } = await app.inject({ method: 'POST', url, payload: body });
      expect(statusCode).toBe(400);
    });
  });
});
