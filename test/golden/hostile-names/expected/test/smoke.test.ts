import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../src/generated/app.js';

test('the catalog lists the exposed dataclasses', async () => {
  const app = await buildApp({ databaseUrl: 'sqlite::memory:', logger: false });
  const response = await app.inject('/rest/$catalog');
  const catalog: { readonly dataClasses: readonly { readonly name: string }[] } = response.json();
  assert.deepEqual(
    catalog.dataClasses.map((dataclass) => dataclass.name),
    [
      'A',
      'AB',
      'A_B',
      'Object',
      'Select',
      'a_name_with_sixty_three_characters_which_is_as_long_as_it_gets_',
      'class',
      'x_',
      'x²',
      '数据类名称数据类名称数据类名称数据类名称数据类名称数据类名称',
    ],
  );
  await app.close();
});

test('an empty database answers with no entities', async () => {
  const app = await buildApp({ databaseUrl: 'sqlite::memory:', logger: false });
  const response = await app.inject('/rest/A');
  assert.equal(response.statusCode, 200);
  assert.equal(response.json<{ readonly __COUNT: number }>().__COUNT, 0);
  await app.close();
});
