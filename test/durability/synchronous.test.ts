import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { serverOf } from '../support/server.js';
import { durabilityModel } from './support/model.js';
import { Scratch } from '../support/processes/scratch.js';

let scratch: Scratch;

beforeEach(() => {
  scratch = new Scratch('none');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await scratch.remove();
});

/** The `synchronous` setting that SQLite reports for each connection. */
async function synchronous(environment: Readonly<Record<string, string>>): Promise<unknown> {
  const asked = vi.spyOn(Database.prototype, 'pragma');
  const databaseUrl = `sqlite:${scratch.file}`;
  const app = await serverOf(durabilityModel, { databaseUrl, environment });
  const told = asked.mock.contexts.filter((_, index) =>
    asked.mock.calls[index]?.[0].startsWith('synchronous'),
  );
  asked.mockRestore();
  const values = told.map((each) => (each as Database.Database).pragma('synchronous'));
  await app.close();
  return values;
}

it.each([
  [{}, 1],
  [{ SQLITE_SYNCHRONOUS: '' }, 1],
  [{ SQLITE_SYNCHRONOUS: 'normal' }, 1],
  [{ SQLITE_SYNCHRONOUS: 'full' }, 2],
] as const)(
  'SQLITE_SYNCHRONOUS=%j decides when a change waits for the disk',
  async (environment, level) => {
    expect(await synchronous(environment)).toEqual([[{ synchronous: level }]]);
  },
);

it.each(['off', 'FULL', '2', ' full'])('SQLITE_SYNCHRONOUS=%j stops the start', async (value) => {
  const environment = { SQLITE_SYNCHRONOUS: value };
  const databaseUrl = `sqlite:${scratch.file}`;
  await expect(serverOf(durabilityModel, { databaseUrl, environment })).rejects.toThrow(
    `SQLITE_SYNCHRONOUS is ${JSON.stringify(value)}; it must be normal or full.`,
  );
});
