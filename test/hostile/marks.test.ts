import type { FastifyInstance } from 'fastify';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  type MockInstance,
  vi,
} from 'vitest';
import { isLong } from '../support/long.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { create, serverOf } from '../support/server.js';
import { expectServed, type Response } from '../support/expect-served.js';

/** Sorting these marks by insertion, as `normalize` does, takes 10^9 steps and more. */
const hostile = `e${'\u0301'.repeat(60_000)}${'\u0316'.repeat(60_000)}`;
const twins = '\u0f73'.repeat(80_000);
const short = `e${'\u0301'.repeat(900)}${'\u0316'.repeat(900)}`;

const model = `
drs: 1
name: marks
database: [sqlite, postgres]
dataclasses:
  Text:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      plain: string
      indexed: { type: string, indexed: true }
      extra: object
  Word:
    attributes:
      word: { type: string, key: true }
`;

describe('Long runs of combining marks, on SQLite', () => {
  told(undefined);
});

describePostgres('Long runs of combining marks, on PostgreSQL', () => {
  told(postgresDatabase);
});

function told(makeDatabase: (() => Promise<TestDatabase>) | undefined): void {
  let app: FastifyInstance;
  let database: TestDatabase | undefined;
  let normalize: MockInstance<typeof String.prototype.normalize>;

  beforeAll(async () => {
    normalize = vi.spyOn(String.prototype, 'normalize');
    database = await makeDatabase?.();
    app = await serverOf(model, database === undefined ? {} : { databaseUrl: database.url });
  });
  beforeEach(() => {
    normalize.mockClear();
  });
  afterAll(async () => {
    normalize.mockRestore();
    await app.close();
    await database?.drop();
  });

  const post = (url: string, body: unknown): Promise<Response> =>
    app.inject({ method: 'POST', url: `/rest/${url}`, payload: JSON.stringify(body) });
  /** The marks that one call has to sort. */
  const mostAtOnce = (): number => {
    let most = 0;
    for (const text of normalize.mock.contexts) {
      for (const [run] of String(text).matchAll(/(?:(?!\u034f)\p{M})+/gu)) {
        most = Math.max(most, run.length);
      }
    }
    return most;
  };

  it('in the name of a privilege are not normalized', async () => {
    const response = await post('$directory/currentUserBelongsTo', [hostile, twins]);
    expect(response.json()).toEqual({ result: false });
    expect(normalize).not.toHaveBeenCalled();
  });

  it.runIf(isLong || makeDatabase === undefined)(
    'in values are stored, found again, and never sorted more than 30 at a time',
    async () => {
      for (const text of [hostile, twins]) {
        // An index of PostgreSQL cannot hold longer texts.
        const indexed = text.slice(0, 1000);
        const values = { plain: text, indexed, extra: { text, list: [text] } };
        const [made] = await create(app, 'Text', [values]);
        expect(made).toMatchObject(values);
      }
      for (const path of ['plain', 'indexed', 'extra.text', 'extra.list[]']) {
        for (const comparator of ['=', 'begin', '>=']) {
          const params = encodeURIComponent(JSON.stringify([short.slice(0, 900)]));
          const response = await app.inject(
            `/rest/Text?$filter=${encodeURIComponent(`${path} ${comparator} :1`)}&$params=${params}`,
          );
          const found = comparator === '=' ? 0 : comparator === 'begin' ? 1 : 2;
          expect(response.json(), `${path} ${comparator}`).toMatchObject({ __COUNT: found });
        }
      }
      const ordered = await app.inject('/rest/Text?$orderby=plain desc,indexed,extra.text');
      expect(ordered.json()).toMatchObject({ __ENTITIES: [{ ID: 2 }, { ID: 1 }] });
      expect(mostAtOnce()).toBeLessThanOrEqual(60);
      expect(normalize).toHaveBeenCalled();
    },
  );

  it('in keys are distinguished and found again', async () => {
    await create(app, 'Word', [{ word: short }, { word: `${short}\u0316` }]);
    const again = await post('Word?$method=update', { word: short.toUpperCase() });
    expect(again.statusCode).toBe(409);
    const read = await app.inject(`/rest/Word('${encodeURIComponent(short.toUpperCase())}')`);
    expect(read.json()).toMatchObject({ __KEY: short });
    const filtered = await app.inject(`/rest/Word?$filter=word='${encodeURIComponent(short)}'`);
    expect(filtered.json()).toMatchObject({ __COUNT: 1, __ENTITIES: [{ __KEY: short }] });
    const deleted = await post(`Word('${encodeURIComponent(short)}')?$method=delete`, undefined);
    expect(deleted.json()).toEqual({ ok: true });
    expect(mostAtOnce()).toBeLessThanOrEqual(60);
  });

  it('in names that do not exist are refused', async () => {
    const name = encodeURIComponent(short);
    for (const url of [name, `Text/${name}`, `Text?$orderby=${name}`, `Text?$${name}=1`]) {
      const response = await app.inject(`/rest/${url}`);
      expectServed(response, url.slice(0, 20));
      expect(response.statusCode).toBeGreaterThanOrEqual(400);
    }
    expect(mostAtOnce()).toBeLessThanOrEqual(60);
  });
}
