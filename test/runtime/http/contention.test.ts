import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { actClass, actFunctions, actNamed, type ActingDatastore } from '../../support/acts.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { create, modelOf, serverOf } from '../../support/server.js';
import { Gate } from '../../support/gate.js';
import { sampled } from '../../support/long.js';

const text = `
drs: 1
name: contention
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      name: { type: string, unique: true }
      value: integer
  Parent: { attributes: { ID: { type: integer, key: true } } }
  Owned:
    attributes:
      ID: { type: integer, key: true }
      parent: { to: Parent, foreignKey: parentID, onDelete: cascade }
      parentID: integer
      guardian: { to: Parent, onDelete: cascade }
      value: integer
  Deep: { attributes: { ID: { type: integer, key: true }, owned: { to: Owned, onDelete: cascade } } }
  Pointing: { attributes: { ID: { type: integer, key: true }, parent: { to: Parent, foreignKey: parentID, onDelete: setNull }, parentID: integer } }
  Keeping: { attributes: { ID: { type: integer, key: true }, parent: { to: Parent, onDelete: restrict } } }
  Node: { attributes: { ID: { type: string, key: true }, up: { to: Node, onDelete: cascade } } }
  Evented:
    attributes: { ID: { type: integer, key: true }, value: integer }
    events: [validateSave, saving, afterSave, validateDrop, dropping, afterDrop]
${actFunctions}`;

/** Its events are counted. */
const evented = `
import { EventedEntityBase } from '../generated/api.js';
const counts = Reflect.get(globalThis, Symbol.for('contention counts')) as Map<string, number>;
function count(event: { readonly kind: string; readonly saveStatus?: string; readonly dropStatus?: string }): void {
  const name = [event.kind, event.saveStatus ?? event.dropStatus].join(' ').trim();
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
export class EventedEntity extends EventedEntityBase {
  validateSave(event: never): undefined { count(event); }
  saving(event: never): undefined { count(event); }
  afterSave(event: never): void { count(event); }
  validateDrop(event: never): undefined { count(event); }
  dropping(event: never): undefined { count(event); }
  afterDrop(event: never): void { count(event); }
}
`;

/** How often events ran, by kind and status. */
const counts = new Map<string, number>();
(globalThis as Record<symbol, unknown>)[Symbol.for('contention counts')] = counts;

const several = 10;

const stamped = (ID: number): object => ({ __KEY: String(ID), __STAMP: 1 });

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An entity of class code. */
interface Held {
  value: number;
  save(): Promise<void>;
  drop(): Promise<void>;
}

interface Classes {
  readonly Item: {
    get(key: number): Promise<Held>;
    query(filter: string): { drop(): Promise<unknown>; toArray(): Promise<Held[]> };
  };
}

describePostgres('Concurrent requests on PostgreSQL', () => {
  let database: TestDatabase;
  let app: FastifyInstance;
  /** Another client, whose open transaction makes requests wait until all of them have arrived. */
  let other: Client;

  beforeAll(async () => {
    database = await postgresDatabase();
    app = await serverOf(
      { ...modelOf(text), databases: ['postgres'] },
      { databaseUrl: database.url, environment: { DATABASE_POOL: String(several + 2) } },
      { ...actClass, 'src/classes/EventedEntity.ts': evented },
    );
    other = new Client({ connectionString: database.url });
    await other.connect();
  });
  afterAll(async () => {
    await other.end();
    await app.close();
    await database.drop();
  });
  beforeEach(() => {
    counts.clear();
  });
  afterEach(async () => {
    await other.query('rollback');
    await other.query(
      'truncate "Item", "Parent", "Owned", "Deep", "Pointing", "Keeping", "Node", "Evented"',
    );
  });

  async function ask(url: string, payload?: unknown): Promise<Answer> {
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: `/rest/${url}`,
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
    return { status: statusCode, body: JSON.parse(body) as Answer['body'] };
  }

  function drop(address: string): Promise<Answer> {
    return ask(`${address}?$method=delete`);
  }

  function save(dataclass: string, body: unknown, parameters = ''): Promise<Answer> {
    return ask(`${dataclass}?$method=update${parameters}`, body);
  }

  /** Runs class code, in a function. */
  function act(work: (ds: Classes & ActingDatastore) => unknown): Promise<Answer> {
    return ask('$catalog/act', [actNamed((ds) => work(ds as Classes & ActingDatastore))]);
  }

  /** Holds the locks of a statement in another transaction, until {@link letGo}. */
  async function hold(...statements: readonly string[]): Promise<void> {
    await other.query('begin');
    for (const statement of statements) await other.query(statement);
  }

  async function letGo(): Promise<void> {
    await other.query('rollback');
  }

  /** Resolves when this many transactions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    const waits = `select count(*) as "count" from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    for (let look = 0; look < 1000; look += 1) {
      // Within a transaction, PostgreSQL would return the list of the first read.
      const { rows } = await other.query<{ count: string }>(
        `select pg_stat_clear_snapshot(), (${waits}) as "count"`,
      );
      if (Number(rows[0]?.count) >= count) return;
      await setTimeout(5);
    }
    throw new Error(`There are no ${count} transactions that wait.`);
  }

  /** Sends requests one after the other, each when the ones before it wait, and lets them go on when all do. */
  async function inTurn(
    held: string | readonly string[],
    requests: readonly (() => Promise<Answer>)[],
  ): Promise<readonly Answer[]> {
    await hold(...[held].flat());
    const answers: Promise<Answer>[] = [];
    for (const request of requests) {
      answers.push(request());
      await waiting(answers.length);
    }
    await letGo();
    return Promise.all(answers);
  }

  /** A number of equal requests. */
  function times<T>(request: (index: number) => T, count = several): (() => T)[] {
    return Array.from({ length: count }, (_, index) => () => request(index));
  }

  async function stored(dataclass: string): Promise<readonly Record<string, unknown>[]> {
    const { rows } = await other.query<Record<string, unknown>>(
      `select * from "${dataclass}" order by "ID"`,
    );
    return rows;
  }

  function statuses(answers: readonly Answer[]): readonly number[] {
    return answers.map(({ status }) => status).sort((a, b) => a - b);
  }

  function codes({ body }: Answer): readonly number[] {
    const members = [body, ...((body['__ENTITIES'] ?? []) as Record<string, unknown>[])];
    return members
      .flatMap(({ __ERROR }) => (__ERROR ?? []) as { readonly errCode: number }[])
      .map(({ errCode }) => errCode);
  }

  const lockOf = (dataclass: string, condition = 'true'): string =>
    `select 1 from "${dataclass}" where ${condition} order by "ID" for update`;
  const one = (status: number): readonly number[] => Array<number>(several - 1).fill(status);
  const items = Array.from({ length: 6 }, (_, index) => ({
    ID: index + 1,
    name: `item ${index + 1}`,
    value: 0,
  }));

  it('$method=validate: waits for a change of the same entity, and stores nothing', async () => {
    await create(app, 'Item', [{ ID: 1, value: 1 }]);
    const body = { __KEY: 1, __STAMP: 1, value: 3 };
    const answers = await inTurn('update "Item" set "value" = 2 where "ID" = 1', [
      () => ask('Item?$method=validate', body),
      () => ask('Item?$method=validate', [body]),
    ]);
    const right = { status: 200, body: { ok: true } };
    expect(answers).toEqual([right, right]);
    expect(await stored('Item')).toMatchObject([{ value: '1', __STAMP: '1' }]);
  });

  describe('that change different entities', () => {
    async function globalStamp(): Promise<unknown> {
      const answer = await app.inject('/rest/Item?$top=0');
      return answer.json<Record<string, unknown>>()['__GlobalStamp'];
    }

    it('$method=update: does not wait for class code that has saved another entity', async () => {
      await create(app, 'Item', items);
      const before = Number(await globalStamp());
      const gate = new Gate();
      const transaction = act((ds) =>
        ds.transaction(async () => {
          for (const key of [2, 1]) {
            const item = await ds.Item.get(key);
            item.value = key;
            await item.save();
            if (key === 2) await gate.pass();
          }
          return null;
        }),
      );
      await gate.reached;
      expect((await save('Item', { __KEY: 3, __STAMP: 1, value: 3 })).status).toBe(200);
      expect((await save('Item', { ID: 7 })).status).toBe(200);
      expect((await drop('Item(4)')).status).toBe(200);
      expect(await globalStamp()).toBe(before + 3);
      gate.open();
      expect((await transaction).status).toBe(200);
      expect(await globalStamp()).toBe(before + 5);
      expect((await stored('Item')).map(({ __STAMP }) => __STAMP)).toEqual(Array.from('222111'));
    });

    it('$method=update: does not wait for transactions of other servers that are being committed', async () => {
      await create(app, 'Item', items);
      const before = Number(await globalStamp());
      await hold(
        // The rows of the sessions belong to this server.
        `update "__datastore" set "value" = "value" + 1 where "name" not like 'globalStamp-%' and "value" is not null`,
        'update "__version" set "value" = "value" + 1 where "slot" > 0',
      );
      const answers = await Promise.all(
        items.map(({ ID }) => save('Item', { __KEY: ID, __STAMP: 1, value: ID })),
      );
      expect(new Set(statuses(answers))).toEqual(new Set([200]));
      expect(await globalStamp()).toBe(before + items.length);
      const rows = `select count(*)::integer as "count" from "__datastore" where "name" like 'globalStamp%'`;
      const counted = async (): Promise<unknown> => (await other.query(rows)).rows[0];
      await letGo();
      const { count } = (await counted()) as { readonly count: number };
      expect(count).toBeLessThanOrEqual(2 * (items.length + 1));
      for (const { ID } of items) await save('Item', { __KEY: ID, __STAMP: 2, value: -ID });
      // Nobody else held one.
      expect(await counted()).toEqual({ count });
    });

    it('__GlobalStamp: goes on from the number of a database that another server has written', async () => {
      await other.query(`update "__datastore" set "value" = 0 where "name" like 'globalStamp_%'`);
      await other.query(`update "__datastore" set "value" = 41 where "name" = 'globalStamp'`);
      expect(await globalStamp()).toBe(41);
      await create(app, 'Item', items);
      expect(await globalStamp()).toBe(41 + items.length);
    });

    it('__GlobalStamp: counts nothing that is rolled back, and what class code saves', async () => {
      await create(app, 'Item', items);
      const before = Number(await globalStamp());
      const saved = async (ds: Classes, key: number): Promise<void> => {
        const item = await ds.Item.get(key);
        item.value += 1;
        await item.save();
      };
      const answer = await act((ds) =>
        ds.transaction(async () => {
          await saved(ds, 1);
          const failing = ds.transaction(async () => {
            await saved(ds, 2);
            throw new Error('given up');
          });
          await failing.catch(() => undefined);
          await ds.transaction(() => saved(ds, 3));
          return null;
        }),
      );
      expect(answer.status).toBe(200);
      expect(await globalStamp()).toBe(before + 2);
      expect((await save('Item', [{ ID: 8 }, { ID: 1 }], '&$atomic=true')).status).toBe(409);
      expect(await globalStamp()).toBe(before + 2);
    });
  });

  describe('that delete', () => {
    it('$method=delete: of ten deletions of one entity, one succeeds, and the others do not find it', async () => {
      await create(app, 'Item', [{ ID: 1 }]);
      const answers = await inTurn(
        lockOf('Item'),
        times(() => drop('Item(1)')),
      );
      expect(statuses(answers)).toEqual([200, ...one(404)]);
      const refused = answers.filter(({ status }) => status === 404);
      expect(refused.flatMap(codes)).toEqual(one(1543));
    });

    it('$method=delete: deletions by $filter, by an entity set and by key count each entity once', async () => {
      await create(app, 'Item', items);
      const set = await ask('Item?$filter="value=0"&$method=entityset');
      const name = String(set.body['__ENTITYSET']).replace(/^.*\$entityset\//, '');
      const answers = await inTurn(lockOf('Item'), [
        () => drop(`Item/$entityset/${name}`),
        () => ask('Item?$filter="value=0"&$method=delete'),
        () => drop('Item(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200, 404]);
      expect(await stored('Item')).toEqual([]);
    });

    it('selection.drop(): the numbers that ten concurrent calls return add up to the number of entities', async () => {
      await create(app, 'Item', items);
      const numbers: unknown[] = [];
      await inTurn(
        lockOf('Item'),
        times(() =>
          act(async (ds) => {
            numbers.push(await ds.Item.query('value = 0').drop());
            return null;
          }),
        ),
      );
      expect(numbers.map(Number).sort((a, b) => a - b)).toEqual([
        ...Array<number>(several - 1).fill(0),
        items.length,
      ]);
    });

    it('entity.drop(): of ten concurrent calls, one succeeds, and the others fail because the entity does not exist', async () => {
      await create(app, 'Item', [{ ID: 1 }]);
      const answers = await inTurn(
        lockOf('Item'),
        times(() =>
          act(async (ds) => {
            await (await ds.Item.get(1)).drop();
            return null;
          }),
        ),
      );
      expect(statuses(answers)).toEqual([200, ...one(404)]);
    });

    it('events of a deletion: run only for the one of ten deletions that deletes', async () => {
      await create(app, 'Evented', [{ ID: 1 }]);
      counts.clear();
      const answers = await inTurn(
        lockOf('Evented'),
        times(() => drop('Evented(1)')),
      );
      expect(statuses(answers)).toEqual([200, ...one(404)]);
      expect(Object.fromEntries(counts)).toEqual({
        validateDrop: 1,
        dropping: 1,
        'afterDrop success': 1,
      });
    });

    it('$method=delete with a $filter: keeps an entity that no longer matches after a concurrent change', async () => {
      await create(app, 'Item', items.slice(0, 2));
      const answers = await inTurn(lockOf('Item', '"ID" = 1'), [
        () => save('Item', { __KEY: 1, __STAMP: 1, value: 1 }),
        () => ask('Item?$filter="value=0"&$method=delete'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(await stored('Item')).toMatchObject([{ ID: '1', value: '1' }]);
    });
  });

  describe('that delete and change one entity', () => {
    it('$method=update: finds no entity after a deletion', async () => {
      await create(app, 'Item', [{ ID: 1 }]);
      const [deleted, ...updated] = await inTurn(lockOf('Item'), [
        () => drop('Item(1)'),
        ...times((index) => save('Item', { __KEY: 1, __STAMP: 1, value: index + 1 }), 3),
        () => save('Item', [{ __KEY: 1, __STAMP: 1, value: 9 }], '&$atomic=true'),
      ]);
      expect(deleted).toEqual({ status: 200, body: { ok: true } });
      expect(updated.map(({ status }) => status)).toEqual([404, 404, 404, 422]);
      expect(updated.map((each) => codes(each)[0])).toEqual([1542, 1542, 1542, 1542]);
    });

    it('$method=delete: deletes an entity that was changed while it waited', async () => {
      await create(app, 'Item', [{ ID: 1 }]);
      const answers = await inTurn(lockOf('Item'), [
        () => save('Item', { __KEY: 1, __STAMP: 1, value: 5 }),
        ...times(() => drop('Item(1)'), 3),
      ]);
      expect(statuses(answers)).toEqual([200, 200, 404, 404]);
      expect(answers[0]?.status).toBe(200);
      expect(await stored('Item')).toEqual([]);
    });

    it.each(['Item', 'Evented'])(
      '$method=update: an unchanged entity of %s that is being deleted is answered when the deletion is certain',
      async (dataclass) => {
        await create(app, dataclass, [{ ID: 1, value: 1 }]);
        await hold(`delete from "${dataclass}"`);
        const answer = save(dataclass, { __KEY: 1, __STAMP: 1, value: 1 });
        await waiting(1);
        await other.query('commit');
        expect((await answer).status).toBe(404);
      },
    );

    it('events of a save: of ten saves with one stamp, one is stored', async () => {
      await create(app, 'Evented', [{ ID: 1 }]);
      counts.clear();
      const answers = await inTurn(
        lockOf('Evented'),
        times((index) => save('Evented', { __KEY: 1, __STAMP: 1, value: index + 1 })),
      );
      expect(statuses(answers)).toEqual([200, ...one(409)]);
      expect(counts.get('afterSave success')).toBe(1);
    });

    it('events of a save: an earlier deletion makes it find no entity', async () => {
      await create(app, 'Evented', [{ ID: 1 }]);
      const answers = await inTurn(lockOf('Evented'), [
        () => drop('Evented(1)'),
        () => save('Evented', { __KEY: 1, __STAMP: 1, value: 1 }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    });
  });

  describe('that save lists', () => {
    const bodies = (value: number): object[] =>
      items.map(({ ID }) => ({ __KEY: ID, __STAMP: 1, value }));
    const turned = (value: number): object[] =>
      value % 2 === 0 ? bodies(value) : bodies(value).reverse();

    it('$atomic: of ten lists in opposite orders, one is stored, and the others are 409 with 1263', async () => {
      await create(app, 'Item', items);
      const answers = await inTurn(
        lockOf('Item'),
        times((index) => save('Item', turned(index + 1), '&$atomic=true')),
      );
      expect(statuses(answers)).toEqual([200, ...one(409)]);
      const refused = answers.filter(({ status }) => status === 409);
      expect(new Set(refused.map((each) => codes(each)[0]))).toEqual(new Set([1263]));
      const rows = await stored('Item');
      expect(new Set(rows.map(({ __STAMP }) => __STAMP))).toEqual(new Set(['2']));
      expect(new Set(rows.map(({ value }) => value)).size).toBe(1);
    });

    it('$method=update: of ten lists in opposite orders, each is answered, and each entity is stored once', async () => {
      await create(app, 'Item', items);
      const answers = await inTurn(
        lockOf('Item'),
        times((index) => save('Item', turned(index + 1))),
      );
      expect(statuses(answers)).toEqual(Array<number>(several).fill(200));
      const saved = answers.flatMap(
        ({ body }) => body['__ENTITIES'] as { readonly __ERROR?: unknown }[],
      );
      expect(saved.filter(({ __ERROR }) => __ERROR === undefined)).toHaveLength(items.length);
      const rows = await stored('Item');
      expect(rows.map(({ __STAMP }) => __STAMP)).toEqual(items.map(() => '2'));
    });

    it('$method=delete: is answered while lists in any order are saved', async () => {
      await create(app, 'Item', items);
      const answers = await inTurn(
        lockOf('Item'),
        times((index) =>
          index % 2 === 0
            ? ask('Item?$filter="ID>0"&$method=delete')
            : save('Item', bodies(index).reverse(), '&$atomic=true'),
        ),
      );
      const deleted = answers.filter((_, index) => index % 2 === 0);
      expect(statuses(deleted)).toEqual([200, 200, 200, 200, 200]);
      expect(await stored('Item')).toEqual([]);
    });

    it('$atomic: of lists of new entities with the same unique values in opposite orders, one is stored', async () => {
      const list = (first: number): object[] => {
        const named = items.map(({ name }, index) => ({ ID: first + index, name }));
        return first % 20 === 0 ? named : named.reverse();
      };
      const names = items.map(({ ID, name }) => `(${-ID}, '${name}', lower('${name}'), 1, '')`);
      const answers = await inTurn(
        `insert into "Item" ("ID", "name", "__folded_name", "__STAMP", "__TIMESTAMP") values ${names.join()}`,
        times((index) => save('Item', list(10 * (index + 1)), '&$atomic=true'), 4),
      );
      expect(statuses(answers)).toEqual([200, 409, 409, 409]);
      expect(await stored('Item')).toHaveLength(items.length);
    });

    it('$method=update: a request whose transaction PostgreSQL aborts twice runs a third time', async () => {
      await create(app, 'Item', items);
      const third = new Client({ connectionString: database.url });
      await third.connect();
      try {
        await third.query('begin');
        await third.query(lockOf('Item', '"ID" = 3'));
        await hold(lockOf('Item', '"ID" = 2'));
        const answer = save(
          'Item',
          [1, 2, 3].map((ID) => ({ __KEY: ID, __STAMP: 1, value: ID })),
        );
        // PostgreSQL cancels the one that has waited for a second, usually the request.
        for (const client of [other, third]) {
          await waiting(1);
          await client.query(lockOf('Item', '"ID" = 1')).catch(() => undefined);
          await client.query('rollback');
        }
        const { status, body } = await answer;
        expect(status).toBe(200);
        expect(body['__ENTITIES']).toMatchObject(
          [1, 2, 3].map((ID) => ({ __STAMP: 2, value: ID })),
        );
      } finally {
        await third.end();
      }
    });
  });

  describe('that create', () => {
    it('$method=update: of ten entities with one unique value, one is created', async () => {
      const answers = await inTurn(
        `insert into "Item" ("ID", "name", "__folded_name", "__STAMP", "__TIMESTAMP") values (99, 'a', 'a', 1, '')`,
        times((index) => save('Item', { ID: index + 1, name: 'A' })),
      );
      expect(statuses(answers)).toEqual([200, ...one(409)]);
      const refused = answers.filter(({ status }) => status === 409);
      expect(new Set(refused.map((each) => codes(each)[0]))).toEqual(new Set([1569]));
    });

    it('$method=update: of ten entities with one __KEY, one is created, and the others lack its stamp', async () => {
      const answers = await inTurn(
        `insert into "Item" ("ID", "__STAMP", "__TIMESTAMP") values (1, 1, '')`,
        times((index) => save('Item', { __KEY: 1, value: index })),
      );
      expect(statuses(answers)).toEqual([200, ...one(409)]);
      const refused = answers.filter(({ status }) => status === 409);
      expect(new Set(refused.map((each) => codes(each)[0]))).toEqual(new Set([1263]));
    });

    const parent = lockOf('Parent', '"ID" = 1');

    it.each(['Owned', 'Pointing', 'Keeping'])(
      '$method=update: an entity of %s refers to none that is being deleted',
      async (dataclass) => {
        await create(app, 'Parent', [{ ID: 1 }]);
        const answers = await inTurn(parent, [
          () => drop('Parent(1)'),
          () => save(dataclass, { ID: 1, parent: 1 }),
        ]);
        expect(answers.map(({ status }) => status)).toEqual([200, 422]);
        expect(await stored(dataclass)).toEqual([]);
      },
    );

    it('onDelete: restrict: keeps an entity that another one refers to meanwhile, and reports which', async () => {
      await create(app, 'Parent', [{ ID: 1 }]);
      const [created, deleted] = await inTurn(parent, [
        () => save('Keeping', { ID: 7, parent: 1 }),
        () => drop('Parent(1)'),
      ]);
      expect(created?.status).toBe(200);
      expect(deleted?.status).toBe(409);
      expect(JSON.stringify(deleted?.body)).toContain('Keeping\\" dataclass (\\"7\\") refers');
    });

    it('onDelete: cascade: deletes an entity that is created meanwhile', async () => {
      await create(app, 'Parent', [{ ID: 1 }]);
      const answers = await inTurn(parent, [
        () => save('Owned', { ID: 1, parent: 1 }),
        () => drop('Parent(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(await stored('Owned')).toEqual([]);
    });

    it('onDelete: setNull: changes an entity that is created meanwhile', async () => {
      await create(app, 'Parent', [{ ID: 1 }]);
      const answers = await inTurn(parent, [
        () => save('Pointing', { ID: 1, parent: 1 }),
        () => drop('Parent(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(await stored('Pointing')).toMatchObject([{ parentID: null, __STAMP: '2' }]);
    });
  });

  describe('whose deletions reach others', () => {
    beforeEach(async () => {
      await create(app, 'Parent', [{ ID: 1 }, { ID: 2 }]);
    });

    it('onDelete: cascade: keeps an entity that is moved to another one meanwhile', async () => {
      await create(app, 'Owned', [
        { ID: 1, parent: 1 },
        { ID: 2, parent: 1 },
      ]);
      const answers = await inTurn(lockOf('Owned', '"ID" = 1'), [
        () => save('Owned', { __KEY: 1, __STAMP: 1, parent: 2 }),
        () => drop('Parent(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(await stored('Owned')).toMatchObject([{ ID: '1', parentID: '2' }]);
    });

    it('onDelete: cascade: deletes what is created below an entity that it reaches', async () => {
      await create(app, 'Owned', [{ ID: 1, parent: 1 }]);
      const answers = await inTurn(lockOf('Owned'), [
        () => save('Deep', { ID: 1, owned: 1 }),
        () => drop('Parent(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect([await stored('Owned'), await stored('Deep')]).toEqual([[], []]);
    });

    it('onDelete: cascade: two deletions that reach the same entities both succeed', async () => {
      await create(
        app,
        'Owned',
        items.map(({ ID }) => ({ ID, parent: 1 + (ID % 2), guardian: 2 - (ID % 2) })),
      );
      const answers = await inTurn(lockOf('Owned', '"ID" > 3'), [
        () => drop('Parent(1)'),
        () => drop('Parent(2)'),
        () => drop('Owned(4)'),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
      expect([await stored('Owned'), await stored('Parent')]).toEqual([[], []]);
    });

    it('onDelete: cascade: follows relations of a dataclass to itself, whatever others do meanwhile', async () => {
      await create(app, 'Node', [
        { ID: 'root' },
        { ID: 'a', up: 'root' },
        { ID: 'b', up: 'a' },
        { ID: 'c', up: 'b' },
        { ID: 'apart' },
      ]);
      const answers = await inTurn(lockOf('Node', `"ID" = 'b'`), [
        () => save('Node', { __KEY: 'b', __STAMP: 1, up: 'apart' }),
        () => drop('Node(root)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect((await stored('Node')).map(({ ID }) => ID)).toEqual(['apart', 'b', 'c']);
    });

    it('onDelete: setNull: does not change an entity that is moved to another one meanwhile', async () => {
      await create(app, 'Pointing', [{ ID: 1, parent: 1 }]);
      const answers = await inTurn(lockOf('Pointing'), [
        () => save('Pointing', { __KEY: 1, __STAMP: 1, parent: 2 }),
        () => drop('Parent(1)'),
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(await stored('Pointing')).toMatchObject([{ parentID: '2', __STAMP: '2' }]);
    });
  });

  describe('whose class code meets', () => {
    /** Saves two entities in a transaction; the second one when another transaction has saved its first. */
    function meeting(): (first: number, second: number) => Promise<Answer> {
      let begun = 0;
      let meet = (): void => undefined;
      const met = new Promise<void>((resolve) => (meet = resolve));
      return (first, second) =>
        act((ds) =>
          ds.transaction(async () => {
            runs += 1;
            const values = [await ds.Item.get(first), await ds.Item.get(second)] as const;
            for (const each of values) each.value = first;
            begun += 1;
            if (begun === 2) meet();
            await met;
            for (const each of values) await each.save();
            return null;
          }),
        );
    }
    let runs = 0;

    beforeEach(async () => {
      runs = 0;
      await create(app, 'Item', items);
    });

    it('ds.transaction: of two that save in opposite orders, one is stored, the other one gets 409 and does not run again', async () => {
      const save = meeting();
      const answers = await Promise.all([save(1, 2), save(2, 1)]);
      expect(statuses(answers)).toEqual([200, 409]);
      expect(runs).toBe(2);
      const values = (await stored('Item')).slice(0, 2).map(({ value }) => value);
      expect(new Set(values).size).toBe(1);
    });

    it('ds.transaction: one that PostgreSQL aborts gets 409 with 1848, without details of the database', async () => {
      for (let round = 1; round <= 2; round += 1) {
        await hold(lockOf('Item', '"ID" = 2'));
        const answer = act((ds) =>
          ds.transaction(async () => {
            runs += 1;
            for (const key of [1, 2]) {
              const entity = await ds.Item.get(key);
              entity.value = round;
              await entity.save();
            }
            return null;
          }),
        );
        await waiting(1);
        const isOtherGivenUp = await other.query(lockOf('Item', '"ID" = 1')).then(
          () => false,
          () => true,
        );
        await letGo();
        const answered = await answer;
        if (isOtherGivenUp) continue;
        expect(answered.status).toBe(409);
        expect(codes(answered)).toEqual([1848]);
        expect(runs).toBe(round);
        return;
      }
      expect.unreachable('The other transaction was given up each time.');
    });
  });

  describe('of all kinds at once', () => {
    interface Row {
      readonly stamp: number;
      readonly of: number | null;
    }
    /** What is stored, by dataclass and key; `of` is the value of an item, or the parent. */
    type State = ReadonlyMap<string, Row>;
    interface Step {
      readonly told: string;
      readonly ask: () => Promise<Answer>;
      /** Its answer when it runs alone, and the data afterwards. */
      readonly run: (state: State) => readonly [status: number, state: State];
    }

    const begun: State = new Map<string, Row>([
      ['Item 1', { stamp: 1, of: 0 }],
      ['Item 2', { stamp: 1, of: 0 }],
      ['Parent 1', { stamp: 1, of: null }],
      ['Parent 2', { stamp: 1, of: null }],
      ['Owned 1', { stamp: 1, of: 1 }],
      ['Owned 2', { stamp: 1, of: 2 }],
    ]);

    function changed(state: State, name: string, row: Row | undefined): State {
      const next = new Map(state);
      if (row === undefined) next.delete(name);
      else next.set(name, row);
      return next;
    }

    function deletion(dataclass: string, key: number): Step {
      const name = `${dataclass} ${key}`;
      return {
        told: `delete ${name}`,
        ask: () => drop(`${dataclass}(${key})`),
        run: (state) => {
          if (!state.has(name)) return [404, state];
          const rest = [...state].filter(
            ([each, { of }]) =>
              each !== name && !(dataclass === 'Parent' && each.startsWith('Owned') && of === key),
          );
          return [200, new Map(rest)];
        },
      };
    }

    function creation(dataclass: 'Item' | 'Owned', key: number, of: number): Step {
      const name = `${dataclass} ${key}`;
      const values = dataclass === 'Item' ? { value: of } : { parent: of };
      return {
        told: `create ${name} of ${of}`,
        ask: () => save(dataclass, { ID: key, ...values }),
        run: (state) => {
          if (dataclass === 'Owned' && !state.has(`Parent ${of}`)) return [422, state];
          if (state.has(name)) return [409, state];
          return [200, changed(state, name, { stamp: 1, of })];
        },
      };
    }

    function move(key: number, of: number): Step {
      const name = `Owned ${key}`;
      return {
        told: `move ${name} to ${of}`,
        ask: () => save('Owned', { __KEY: key, __STAMP: 1, parent: of, value: 100 + of }),
        run: (state) => {
          const row = state.get(name);
          if (row === undefined) return [404, state];
          if (row.stamp !== 1) return [409, state];
          if (!state.has(`Parent ${of}`)) return [422, state];
          return [200, changed(state, name, { stamp: 2, of })];
        },
      };
    }

    function list(keys: readonly number[], value: number): Step {
      return {
        told: `update Items ${keys.join()} to ${value}`,
        ask: () => {
          const sent = keys.map((key) => ({ __KEY: key, __STAMP: 1, value }));
          return save('Item', sent, '&$atomic=true');
        },
        run: (state) => {
          const rows = keys.map((key) => state.get(`Item ${key}`));
          if (rows.some((row) => row === undefined)) return [422, state];
          if (rows.some((row) => row?.stamp !== 1)) return [409, state];
          const set = (all: State, key: number): State =>
            changed(all, `Item ${key}`, { stamp: 2, of: value });
          return [200, keys.reduce(set, state)];
        },
      };
    }

    const kinds: readonly ((draw: (below: number) => number, at: number) => Step)[] = [
      (draw) => deletion('Item', 1 + draw(2)),
      (draw) => deletion('Parent', 1 + draw(2)),
      (draw) => deletion('Owned', 1 + draw(2)),
      (draw, at) => creation('Item', 1 + draw(3), 10 + at),
      (draw) => creation('Owned', 1 + draw(3), 1 + draw(2)),
      (draw) => move(1 + draw(2), 1 + draw(2)),
      (_, at) => list([1, 2], 10 + at),
      (_, at) => list([2, 1], 10 + at),
    ];

    async function begin(): Promise<void> {
      await other.query('truncate "Item", "Parent", "Owned", "Deep", "Pointing", "Keeping"');
      await create(app, 'Item', [
        { ID: 1, value: 0 },
        { ID: 2, value: 0 },
      ]);
      await create(app, 'Parent', [{ ID: 1 }, { ID: 2 }]);
      await create(app, 'Owned', [
        { ID: 1, parent: 1 },
        { ID: 2, parent: 2 },
      ]);
    }

    async function left(): Promise<State> {
      const rows = new Map<string, Row>();
      for (const dataclass of ['Item', 'Parent', 'Owned']) {
        for (const { ID, __STAMP, value, parentID } of await stored(dataclass)) {
          const of = dataclass === 'Item' ? value : dataclass === 'Owned' ? parentID : null;
          const stamp = Number(__STAMP);
          rows.set(`${dataclass} ${String(ID)}`, { stamp, of: of === null ? null : Number(of) });
        }
      }
      return rows;
    }

    function textOf(state: State): string {
      return JSON.stringify([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
    }

    /** Whether some order of the steps has these answers and this data. */
    function isSerial(
      rest: readonly (readonly [Step, number])[],
      state: State,
      wanted: string,
    ): boolean {
      if (rest.length === 0) return textOf(state) === wanted;
      return rest.some(([step, answered], at) => {
        const [status, next] = step.run(state);
        return status === answered && isSerial(rest.toSpliced(at, 1), next, wanted);
      });
    }

    it('are answered as if they had run one after the other', async () => {
      let seed = 1;
      const draw = (below: number): number => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      for (let round = 1; round <= sampled(100); round += 1) {
        await begin();
        const steps = Array.from({ length: 7 }, (_, at) =>
          (kinds[draw(kinds.length)] as (typeof kinds)[number])(draw, at),
        );
        const answers = await Promise.all(steps.map((step) => step.ask()));
        const given = steps.map((step, at) => [step, (answers[at] as Answer).status] as const);
        const wanted = await left();
        if (isSerial(given, begun, textOf(wanted))) continue;
        const told = given.map(([step, status]) => `${step.told}: ${status}`);
        expect.unreachable(`round ${round}: ${told.join('; ')} leave ${textOf(wanted)}`);
      }
    });
  });

  it.each([
    ['initially deferred', undefined],
    ['initially immediate', '1'],
  ])(
    'are not to be sent again if the connection breaks in a commit: %s',
    async (when, retryAfter) => {
      const cut = 'perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(60);';
      await other.query(
        `create function cut() returns trigger language plpgsql as $$ begin ${cut} return null; end $$`,
      );
      await create(app, 'Item', [{ ID: 1 }, { ID: 2 }]);
      await other.query(
        `create constraint trigger cut after update on "Item" deferrable ${when} for each row execute function cut()`,
      );
      const posts: readonly (readonly [string, unknown])[] = [
        ['Item?$method=update&$atomic=true', [1, 2].map((ID) => ({ ...stamped(ID), value: 1 }))],
        // A change that is the only statement of a request commits itself.
        ...(retryAfter === undefined
          ? ([['Item?$method=update', { ...stamped(1), value: 1 }]] as const)
          : []),
      ];
      try {
        for (const [url, body] of posts) {
          const payload = JSON.stringify(body);
          const answer = await app.inject({ method: 'POST', url: `/rest/${url}`, payload });
          expect(answer.statusCode, answer.body).toBe(503);
          expect(answer.headers['retry-after'], answer.body).toBe(retryAfter);
          const isUnknown = answer.body.includes('not known whether the change is stored');
          expect(isUnknown, answer.body).toBe(retryAfter === undefined);
        }
      } finally {
        await other.query('drop function cut cascade');
      }
      expect((await save('Item', { ...stamped(1), value: 2 })).status).toBe(200);
    },
  );
});
