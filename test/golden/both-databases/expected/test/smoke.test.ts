import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { openings } from '../src/generated/access.js';
import { buildApp } from '../src/generated/app.js';
import { definitions } from '../src/generated/definitions.js';
import { settings } from '../src/generated/settings.js';
import { testDatabase } from './database.js';

const closed = openings.filter(({ privileges }) => privileges.length === 0).map(({ bit }) => bit);

/** What a user with every privilege can read. */
const readable = definitions
  .filter(({ access, exposed }) => {
    const needed = access?.read;
    return exposed && (needed === undefined || !closed.includes(needed));
  })
  .map(({ name }) => name);

const privileges = ['WebAdmin', ...(settings.roles?.privileges ?? []).map(({ name }) => name)];

interface LoggedIn {
  readonly app: FastifyInstance;
  readonly cookie: string;
  readonly end: () => Promise<void>;
}

async function loggedIn(): Promise<LoggedIn> {
  const database = await testDatabase();
  const app = buildApp({
    databaseUrl: database.url,
    logger: false,
    login: { login: (userName) => ({ userName, privileges }) },
  });
  const url = '/rest/$directory/login';
  const response = await app.inject({ method: 'POST', url, payload: '["smoke","password"]' });
  assert.equal(response.statusCode, 200);
  const cookies = response.cookies.map(({ name, value }) => `${name}=${value}`);
  const end = async (): Promise<void> => {
    await app.close();
    await database.remove();
  };
  return { app, cookie: cookies.join('; '), end };
}

await test('the catalog lists the dataclasses that can be read', async () => {
  const { app, cookie, end } = await loggedIn();
  const response = await app.inject({ url: '/rest/$catalog', headers: { cookie } });
  const { dataClasses } = response.json<{ readonly dataClasses: readonly { name: string }[] }>();
  const listed = new Set(dataClasses.map(({ name }) => name));
  assert.deepEqual(
    readable.filter((name) => !listed.has(name)),
    [],
  );
  await end();
});

await test('an empty database answers with no entities', async () => {
  const { app, cookie, end } = await loggedIn();
  for (const name of readable) {
    const url = `/rest/${encodeURIComponent(name)}`;
    const response = await app.inject({ url, headers: { cookie } });
    // Class code that is not written yet answers 501.
    if (response.statusCode === 501) continue;
    assert.equal(response.statusCode, 200);
    assert.equal(response.json<{ readonly __COUNT: number }>().__COUNT, 0);
  }
  await end();
});
