import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/bench/**', 'test/golden/**'],
    globalSetup: ['test/support/postgres/keeper.ts'],
    pool: 'forks',
    // Many tests wait for processes of their own.
    maxWorkers: availableParallelism(),
    // Servers that tests write are compiled already.
    server: { deps: { external: [/\/\.tmp\//] } },
    reporters: ['default', ['json', { outputFile: '.tmp/tests.json' }]],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
