import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actClass, actFunctions, actNamed, type ActingDatastore } from '../../support/acts.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: upserts
dataclasses:
  Item:
    attributes: &attributes
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      price: { type: decimal, precision: 9, scale: 2, unique: true }
      day: { type: date, dateOnly: true, unique: true }
      part: { type: uuid, unique: true }
      size: { type: number, unique: true }
      count: integer
  Evented: { attributes: *attributes, events: [saving, afterSave] }
  Log: { attributes: { ID: { type: integer, key: true, generated: sequence }, name: string, count: integer } }
${actFunctions}`;

/** Each save leaves a line, so that nothing of a refused attempt may stay. */
const evented = `
import { EventedEntityBase } from '../generated/api.js';
export class EventedEntity extends EventedEntityBase {
  async saving(): Promise<undefined> {
    await this.ds.Log.new({ name: this.name, count: this.count }).save();
  }
  afterSave(): void {}
}
`;

interface Answer {
  readonly status: number;
  readonly body: {
    readonly __ENTITIES?: readonly { readonly __KEY: string; readonly __STATUS: object }[];
    readonly __KEY?: string;
    readonly __COUNT?: number;
    readonly result?: unknown;
  };
}

interface Classes {
  readonly Item: {
    upsert(name: string, values: object | readonly object[]): Promise<never>;
    query(filter: string): {
      count(): Promise<number>;
      update(values: object, options?: { readonly atMost: number }): Promise<number>;
    };
  };
}

const several = 8;

describe('Upserts on SQLite', () => {
  tests(() =>
    serverOf(
      { ...modelOf(model), databases: ['sqlite'] },
      {},
      { ...actClass, 'src/classes/EventedEntity.ts': evented },
    ),
  );
});

describePostgres('Upserts on PostgreSQL', () => {
  let database: TestDatabase;
  afterAll(() => database.drop());
  tests(async () => {
    database = await postgresDatabase();
    return serverOf(
      { ...modelOf(model), databases: ['postgres'] },
      { databaseUrl: database.url, environment: { DATABASE_POOL: String(several + 2) } },
      { ...actClass, 'src/classes/EventedEntity.ts': evented },
    );
  });
});

function tests(open: () => Promise<FastifyInstance>): void {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await open();
  });
  afterAll(() => app.close());

  async function ask(url: string, payload?: unknown): Promise<Answer> {
    const { statusCode, body } = await app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url: `/rest/${url}`,
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
    return { status: statusCode, body: JSON.parse(body) as Answer['body'] };
  }

  /** Runs class code, in a function. */
  function act(work: (ds: Classes & ActingDatastore) => unknown): Promise<Answer> {
    return ask('$catalog/act', [actNamed((ds) => work(ds as Classes & ActingDatastore))]);
  }

  /** Runs requests at the same time. */
  function atOnce(request: (number: number) => Promise<Answer>): Promise<Answer[]> {
    return Promise.all(Array.from({ length: several }, (_, number) => request(number)));
  }

  async function countOf(dataclass: string): Promise<number | undefined> {
    return (await ask(`${dataclass}?$top=0`)).body.__COUNT;
  }

  it('end with one entity of a value for which many come at once, and lose no change', async () => {
    const before = (await countOf('Item')) ?? 0;
    const answers = await atOnce((number) =>
      ask('Item?$method=update&$upsert=name', {
        name: number % 2 === 0 ? 'one' : 'ONE',
        // Each changes something, so that the stamp counts them.
        count: number,
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(several).fill(200));
    expect(new Set(answers.map(({ body }) => body.__KEY)).size).toBe(1);
    expect(await countOf('Item')).toBe(before + 1);
    const stored = await ask(`Item(${String(answers[0]?.body.__KEY)})`);
    expect(stored.body).toMatchObject({ __STAMP: several });
  });

  it.each(['', '&$atomic=true'])(
    'of lists that meet end with one entity of each value%s',
    async (more) => {
      const before = (await countOf('Item')) ?? 0;
      const values = Array.from({ length: 12 }, (_, index) => `list${more} ${String(index)}`);
      const answers = await atOnce((number) =>
        ask(
          `Item?$method=update&$upsert=name${more}`,
          (number % 2 === 0 ? values : values.toReversed()).map((name) => ({
            name,
            count: number,
          })),
        ),
      );
      for (const { status, body } of answers) {
        expect([status, body.__ENTITIES?.map((each) => each.__STATUS)]).toEqual([
          200,
          values.map(() => ({ success: true })),
        ]);
      }
      expect(await countOf('Item')).toBe(before + values.length);
    },
  );

  it('run events once for each save, and keep nothing of an attempt that was too late', async () => {
    const before = (await countOf('Log')) ?? 0;
    const answers = await atOnce((number) =>
      ask('Evented?$method=update&$upsert=name', { name: 'one', count: number }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(several).fill(200));
    expect(await countOf('Evented')).toBe(1);
    expect(await countOf('Log')).toBe(before + several);
  });

  it.each([
    ['price', '12.50', '13.00'],
    ['day', '2026-01-31', '2026-02-01'],
    ['part', '0123456789ABCDEF0123456789ABCDEF', '1123456789ABCDEF0123456789ABCDEF'],
    ['size', 0.1, 1e21],
  ])('find entities by a unique %s', async (name, first, second) => {
    const before = (await countOf('Item')) ?? 0;
    for (const count of [1, 2]) {
      const bodies = [first, second, first].map((value, index) => ({
        [name]: value,
        count: count * 10 + index,
      }));
      const { body } = await ask(`Item?$method=update&$upsert=${name}`, bodies);
      const [one, two, three] = body.__ENTITIES?.map(({ __KEY }) => __KEY) ?? [];
      expect(one).toBe(three);
      expect(one).not.toBe(two);
      expect(await countOf('Item')).toBe(before + 2);
    }
  });

  it('of class code end with one entity of a value, too', async () => {
    const before = (await countOf('Item')) ?? 0;
    const answers = await atOnce((count) =>
      act(async ({ Item }) => {
        const one = (await Item.upsert('name', { name: 'code', count })) as { key: number };
        return one.key;
      }),
    );
    expect(new Set(answers.map(({ body }) => body.result)).size).toBe(1);
    expect(await countOf('Item')).toBe(before + 1);
  });

  it('leave rows that class code changes together, or not at all', async () => {
    const before = await ask('Item?$method=update&$upsert=name', [
      { name: 'many a', count: 100 },
      { name: 'many b', count: 100 },
    ]);
    expect(before.status).toBe(200);
    const answer = await act(async ({ Item }) => {
      const many = Item.query('count = 100');
      const refused = await Promise.allSettled([
        many.update({ count: 101 }, { atMost: 1 }),
        many.update({ name: 'same' }),
      ]);
      const counts = [await many.update({ count: 100 }), await many.update({ count: 102 })];
      return [...refused.map(({ status }) => status), ...counts, await many.count()];
    });
    expect(answer.body.result).toEqual(['rejected', 'rejected', 0, 2, 0]);
  });

  it('of class code save all of a list or none', async () => {
    const before = await countOf('Item');
    const answer = await act(async ({ Item }) => {
      await Item.upsert('name', [
        { name: 'list a' },
        { name: 'list b', count: 1 },
        { name: 'LIST A' },
      ]);
      const failed = Item.upsert('name', [{ name: 'list c' }, { name: 'list b', price: 'x' }]);
      const others = [
        Item.upsert('count', { count: 1 }),
        Item.upsert('nothing', {}),
        Item.upsert('name', { count: 1 }),
        Item.upsert('name', { name: null }),
      ];
      const settled = await Promise.allSettled([failed, ...others]);
      return settled.map(({ status }) => status);
    });
    expect(answer.body.result).toEqual(Array(5).fill('rejected'));
    expect(await countOf('Item')).toBe((before ?? 0) + 2);
  });
}
