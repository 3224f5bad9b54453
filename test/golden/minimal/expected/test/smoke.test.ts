import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../src/generated/app.js';

test('the catalog lists the exposed dataclasses', async () => {
  const app = await buildApp({ databaseUrl: 'sqlite::memory:', logger: false });
  const response = await app.inject('/rest/$catalog');
  const catalog: { readonly dataClasses: readonly { readonly name: string }[] } = response.json();
  assert.deepEqual(
    catalog.dataClasses.map((dataclass) => dataclass.name),
    ['Note'],
  );
  await app.close();
});

test('an empty database answers with no entities', async () => {
  const app = await buildApp({ databaseUrl: 'sqlite::memory:', logger: false });
  const response = await app.inject('/rest/Note');
  assert.equal(response.statusCode, 200);
  assert.equal(response.json<{ readonly __COUNT: number }>().__COUNT, 0);
  await app.close();
});
