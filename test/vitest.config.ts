import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const together = ['runtime', 'model', 'check', 'source', 'output'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      {
        extends: true,
        // These files are many and leave nothing behind in their process, so they share it and its
        // loaded modules.
        test: {
          name: 'together',
          include: together,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'test/bench/**', 'test/golden/**', ...together],
          sequence: { groupOrder: 2 },
        },
      },
    ],
    setupFiles: ['test/support/typescript-children.ts'],
    globalSetup: ['test/support/built-runtime.ts', 'test/support/postgres/keeper.ts'],
    pool: 'forks',
    // Many tests wait for child processes.
    maxWorkers: availableParallelism(),
    // Servers that tests write are compiled already.
    server: { deps: { external: [/\/\.tmp\//] } },
    reporters: ['default', ['json', { outputFile: '.tmp/tests.json' }]],
    // A machine may be ten times slower for a while. A test that never ends still fails.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
