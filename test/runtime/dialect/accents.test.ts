import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterAll, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'drs-accents-'));
const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function model(accentInsensitive: boolean): string {
  return `drs: 1
name: accents
protocol: { accentInsensitive: ${String(accentInsensitive)} }
dataclasses:
  City:
    attributes:
      code: { type: string, key: true }
      name: { type: string, unique: true }
      note: string`;
}

it('A comparison without accents works with and without an index', async () => {
  const app = await serverOf(model(true), { databaseUrl });
  try {
    await create(app, 'City', [
      { code: 'Á', name: 'Zürich', note: 'Été' },
      { code: 'b', name: 'Oslo', note: 'hiver' },
    ]);
    const keys = async (query: string): Promise<readonly string[]> => {
      const { __ENTITIES: entities } = (await app.inject(`/rest/City?${query}`)).json<{
        readonly __ENTITIES: readonly { readonly __KEY: string }[];
      }>();
      return entities.map((each) => each.__KEY);
    };
    expect(await keys("$filter=name='zurich'")).toEqual(['Á']);
    expect(await keys("$filter=note begin 'été'")).toEqual(['Á']);
    expect(await keys("$filter=note='ete'")).toEqual(['Á']);
    expect(await keys('$filter=__KEY=a')).toEqual(['Á']);
    expect((await app.inject('/rest/City(a)')).json()).toMatchObject({ __KEY: 'Á' });
    const twice = await app.inject({
      method: 'POST',
      url: '/rest/City?$method=update',
      payload: { code: 'c', name: 'zurich' },
    });
    expect(twice.statusCode).toBe(409);
  } finally {
    await app.close();
  }
});

it('A change of the setting for accents folds the texts of a database again, and refuses duplicates', async () => {
  const counted = async (app: FastifyInstance, filter: string): Promise<number> =>
    (await app.inject(`/rest/City?$filter=${encodeURIComponent(filter)}`)).json<{
      readonly __COUNT: number;
    }>().__COUNT;
  const app = await serverOf(model(false), { databaseUrl });
  try {
    expect(await counted(app, "name='zurich'")).toBe(0);
    expect(await counted(app, "name='ZÜRICH'")).toBe(1);
    await create(app, 'City', [{ code: 'c', name: 'zurich' }]);
  } finally {
    await app.close();
  }
  const database = new Database(join(folder, 'data.sqlite'));
  // The first model is to be the newest one again.
  database.exec('DELETE FROM "__schema" WHERE "position" = 1');
  database.close();
  await expect(serverOf(model(true), { databaseUrl })).rejects.toThrow(
    /"name" must be unique, and 2 rows have a value that another row has/,
  );
});
