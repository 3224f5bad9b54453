import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { modelFile } from '../support/model-file.js';
import { serverOf } from '../support/server.js';

const model = `drs: 1
name: lists
dataclasses:
  Team:
    attributes:
      ID: { type: integer, key: true }
      name: { type: string, mandatory: true, maxLength: 20, unique: true }
      parent: { to: Team }
      number: { type: integer, generated: sequence }
`;

let app: FastifyInstance;
const statements: string[] = [];

afterEach(() => app.close());

async function start(yaml: Parameters<typeof serverOf>[0] = model): Promise<void> {
  app = await serverOf(yaml, { onStatement: (text) => statements.push(text) });
}

interface Answer {
  readonly ok?: true;
  readonly __ENTITIES?: readonly Answer[];
  readonly __ERROR?: readonly { readonly message: string; readonly errCode: number }[];
}

async function post(
  method: string,
  body: unknown,
  dataclass = 'Team',
): Promise<{ readonly status: number; readonly size: number; readonly json: Answer }> {
  statements.length = 0;
  const url = `/rest/${dataclass}?$method=${method}`;
  const response = await app.inject({ method: 'POST', url, payload: JSON.stringify(body) });
  return { status: response.statusCode, size: response.body.length, json: response.json() };
}

function messagesOf({ __ENTITIES: entities = [] }: Answer): readonly unknown[] {
  return entities.map(({ __ERROR: errors = [] }) => errors[0]?.message);
}

describe('$method=validate', () => {
  it('stores nothing, whether the entities are valid or not', async () => {
    await start();
    await post('update', { ID: 1, name: 'one' });
    const { status, json } = await post('validate', [
      {},
      { ID: 2, name: 'two', parent: 1 },
      { ID: 3, name: 'x'.repeat(21) },
      { __KEY: '1', __STAMP: 1, name: 'first' },
    ]);
    expect([status, messagesOf(json)]).toEqual([
      200,
      ['ID must not be null.', 'name must have at most 20 characters.'],
    ]);
    expect(await post('validate', { ID: 2, name: 'two' })).toMatchObject({ json: { ok: true } });
    const { json: single } = await post('validate', { ID: 2, name: 'ONE', parent: 7 });
    expect(single.__ENTITIES?.[0]?.__ERROR?.map(({ message }) => message)).toEqual([
      'parent names an entity that cannot be found in the "Team" dataclass.',
      'name must be unique: another entity has this value.',
      'The record of the new entity of "Team" cannot be saved.',
      'The new entity of "Team" was not saved.',
    ]);
    expect((await app.inject('/rest/Team')).json()).toMatchObject({
      __COUNT: 1,
      __GlobalStamp: 1,
      __ENTITIES: [{ ID: 1, name: 'one' }],
    });
  });

  it.each(['validate', 'update&$refresh=true'])(
    '(or %s) does not move a sequence behind a number that it was given',
    async (method) => {
      await start();
      await post('update', { ID: 1, name: 'one' });
      const given = { name: 'other', number: 1_000_000 };
      expect((await post(method, { ID: 2, ...given })).status).toBe(200);
      expect((await post(method, { __KEY: 1, __STAMP: 1, ...given })).status).toBe(200);
      await post('update', { ID: 3, name: 'three' });
      const { number } = (await app.inject('/rest/Team(3)')).json<{ number: number }>();
      expect(number).toBeLessThan(1_000_000);
    },
  );

  it('reports the same conflicts between entities as $method=update', async () => {
    await start();
    await post('update', { ID: 1, name: 'one' });
    const twice = await post('validate', [
      { ID: 2, name: 'two' },
      { ID: 3, name: 'TWO' },
    ]);
    expect(messagesOf(twice.json)).toEqual(['name must be unique: another entity has this value.']);
    const child = [
      { ID: 2, name: 'two' },
      { ID: 3, name: 'three', parent: 2 },
      { __KEY: '1', __STAMP: 1, name: 'uno' },
      { ID: 4, name: 'one' },
    ];
    expect((await post('validate', child)).json).toEqual({ ok: true });
    expect((await post('validate', child.toReversed())).json).not.toEqual({ ok: true });
    const changedTwice = [
      { __KEY: '1', __STAMP: 1, name: 'uno' },
      { __KEY: '1', __STAMP: 1, name: 'eins' },
    ];
    expect(messagesOf((await post('validate', changedTwice)).json)).toEqual([
      'The stamp of the entity "1" of "Team" is 2, and 1 was sent.',
    ]);
    expect((await app.inject('/rest/Team')).json()).toMatchObject({ __COUNT: 1, __GlobalStamp: 1 });
  });

  it('stores nothing when the database computes values', async () => {
    await start(modelFile('staff'));
    const { json } = await post('validate', [{ founded: 'never' }, { founded: 1 }], 'Company');
    expect(json.__ENTITIES).toHaveLength(2);
    expect((await post('validate', [{ name: 'right' }], 'Company')).json).toEqual({ ok: true });
    expect((await app.inject('/rest/Company')).json()).toMatchObject({ __COUNT: 0 });
  });
});

describe('Entities in one body', () => {
  it.each(['update', 'validate', 'update&$atomic=true'])(
    'are 1,000 at most by default, which is checked before anything is stored: %s',
    async (method) => {
      await start();
      const bodies = Array.from({ length: 1001 }, (_, index) => ({ ID: index, name: `n${index}` }));
      const { status, json } = await post(method, bodies);
      expect([status, json]).toMatchObject([
        413,
        { __ERROR: [{ message: 'The body has 1001 entities; at most 1000 are taken.' }] },
      ]);
      expect(statements).toEqual([]);
      expect((await post(method, bodies.slice(1))).status).toBe(200);
    },
  );
});

describe('Errors of one body', () => {
  const unknown = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

  it.each(['update', 'validate', 'update&$atomic=true'])(
    'are listed up to a limit, and the others are counted: %s',
    async (method) => {
      await start();
      const { status, size, json } = await post(method, { ID: 1, name: 'a', ...unknown(50_000) });
      const { __ERROR: errors = [] } = json.__ENTITIES?.[0] ?? json;
      expect([status, errors.length]).toEqual([method === 'validate' ? 200 : 400, 1000]);
      expect(errors.at(-3)?.message).toBe('49003 more errors are not listed.');
      expect(errors.at(-1)?.errCode).toBe(1534);
      // A validation returns what was sent.
      expect(size).toBeLessThan(1_000_000);
    },
  );

  it('are reported for each entity, however many others have errors', async () => {
    await start();
    const { size, json } = await post('update', Array(500).fill(unknown(50)));
    const counts = json.__ENTITIES?.map(({ __ERROR: errors = [] }) => errors.length) ?? [];
    expect(counts).toHaveLength(500);
    expect([counts[0], counts.at(-1)]).toEqual([54, 5]);
    expect(size).toBeLessThan(1_000_000);
    expect(json.__ENTITIES?.at(-1)?.__ERROR?.at(2)?.message).toBe('50 more errors are not listed.');
  });
});

it('A catalog lists each dataclass once, however often the address names it', async () => {
  await start(modelFile('staff'));
  const once = await app.inject('/rest/$catalog/Company,Employee');
  const often = await app.inject(
    `/rest/$catalog/${'Company,Employee, Company,'.repeat(2000)}Employee`,
  );
  expect(often.json()).toEqual(once.json());
  const twice = (await app.inject('/rest/$catalog/Company,Company')).json<
    Record<string, object[]>
  >();
  expect(twice['dataClasses']?.map((each) => 'name' in each && each.name)).toEqual(['Company']);
  expect((await app.inject('/rest/$catalog/Company,Nobody')).statusCode).toBe(404);
});
