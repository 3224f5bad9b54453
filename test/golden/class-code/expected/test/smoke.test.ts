import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../src/generated/app.js';
import { definitions } from '../src/generated/definitions.js';
import { testDatabase } from './database.js';

const exposed = definitions.filter((definition) => definition.exposed).map(({ name }) => name);

await test('the catalog lists the exposed dataclasses', async () => {
  const database = await testDatabase();
  const app = buildApp({ databaseUrl: database.url, logger: false });
  const response = await app.inject('/rest/$catalog');
  const { dataClasses } = response.json<{ readonly dataClasses: readonly { name: string }[] }>();
  assert.deepEqual(dataClasses.map(({ name }) => name).sort(), exposed.sort());
  await app.close();
  await database.remove();
});

await test('an empty database answers with no entities', async () => {
  const database = await testDatabase();
  const app = buildApp({ databaseUrl: database.url, logger: false });
  for (const name of exposed) {
    const response = await app.inject(`/rest/${encodeURIComponent(name)}`);
    assert.equal(response.statusCode, 200);
    assert.equal(response.json<{ readonly __COUNT: number }>().__COUNT, 0);
  }
  await app.close();
  await database.remove();
});
