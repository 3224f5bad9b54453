import { vi } from 'vitest';
import { describePostgres } from '../support/postgres.js';

// What the servers of tests run on is read when the modules of those are.
vi.hoisted(() => {
  process.env['TEST_DATABASE'] = 'postgres';
});

describePostgres('on PostgreSQL', async () => {
  await import('./conformance.test.js');
});
