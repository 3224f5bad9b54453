import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../src/generated/app.js';
import { definitions } from '../src/generated/definitions.js';
import { settings } from '../src/generated/settings.js';

/** What somebody can read who holds every privilege. */
const readable = definitions
  .filter(({ access, exposed }) => exposed && access?.read?.length !== 0)
  .map(({ name }) => name);

const privileges = ['WebAdmin', ...(settings.roles?.privileges ?? []).map(({ name }) => name)];

async function loggedIn(): Promise<{ readonly app: FastifyInstance; readonly cookie: string }> {
  const app = await buildApp({
    databaseUrl: 'sqlite::memory:',
    logger: false,
    login: { login: (userName) => ({ userName, privileges }) },
  });
  const url = '/rest/$directory/login';
  const response = await app.inject({ method: 'POST', url, payload: '["smoke","password"]' });
  assert.equal(response.statusCode, 200);
  const cookies = response.cookies.map(({ name, value }) => `${name}=${value}`);
  return { app, cookie: cookies.join('; ') };
}

await test('the catalog lists the dataclasses that can be read', async () => {
  const { app, cookie } = await loggedIn();
  const response = await app.inject({ url: '/rest/$catalog', headers: { cookie } });
  const { dataClasses } = response.json<{ readonly dataClasses: readonly { name: string }[] }>();
  const listed = new Set(dataClasses.map(({ name }) => name));
  assert.deepEqual(
    readable.filter((name) => !listed.has(name)),
    [],
  );
  await app.close();
});

await test('an empty database answers with no entities', async () => {
  const { app, cookie } = await loggedIn();
  for (const name of readable) {
    const url = `/rest/${encodeURIComponent(name)}`;
    const response = await app.inject({ url, headers: { cookie } });
    // Class code that is not written yet answers 501.
    if (response.statusCode === 501) continue;
    assert.equal(response.statusCode, 200);
    assert.equal(response.json<{ readonly __COUNT: number }>().__COUNT, 0);
  }
  await app.close();
});
