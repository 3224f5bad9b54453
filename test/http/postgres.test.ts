import { vi } from 'vitest';
import { isLong } from '../support/long.js';
import { describePostgres } from '../support/postgres.js';

// The database of test servers is read when the modules of the tests are loaded.
vi.hoisted(() => {
  process.env['TEST_DATABASE'] = 'postgres';
});

/** Tests whose answers depend on the SQL of the dialect. */
describePostgres('on PostgreSQL', async () => {
  await import('../runtime/filter/placeholders.test.js');
  await import('../runtime/filter/semantics-lists.test.js');
  await import('../runtime/filter/semantics-objects.test.js');
  await import('../runtime/filter/semantics-related.test.js');
  await import('../runtime/filter/semantics-texts.test.js');
  if (!isLong) return;
  await import('./http.test.js');
  // The databases of these two are files, whatever the variable says.
  await import('../runtime/write/delete.test.js');
  await import('../runtime/query/report.test.js');
  await import('../runtime/write/answered.test.js');
  await import('../runtime/write/update.test.js');
  await import('../runtime/entity-set/served-keys.test.js');
  await import('../runtime/entity-set/served-sets.test.js');
  await import('../runtime/query/distinct.test.js');
  await import('../runtime/query/order-objects.test.js');
  await import('../runtime/query/order-places.test.js');
  await import('../runtime/query/related-count.test.js');
});
