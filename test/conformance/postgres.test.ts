import { vi } from 'vitest';
import { describePostgres } from '../support/postgres.js';

// `TEST_DATABASE` is read when the modules of the tests are loaded.
vi.hoisted(() => {
  process.env['TEST_DATABASE'] = 'postgres';
});

describePostgres('on PostgreSQL', async () => {
  await import('./conformance.test.js');
});
