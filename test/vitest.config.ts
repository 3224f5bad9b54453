import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { MissingPrograms } from './support/missing-programs.js';

/**
 * These files have a process of their own: they choose the database by the environment, or tell
 * from the delays of their process whether it is under load. The story has failed once in a shared
 * process on a busy machine, and the layout has taken minutes there, for reasons that are not known.
 */
const apart = [
  'http/postgres',
  'conformance/postgres',
  'conformance/servers',
  'hostile/load',
  'docs/story',
  'emitted/layout',
].map((name) => `test/${name}.test.ts`);

/**
 * Only `npm run test:long` runs these files: faults of machines and disks, random input from end to
 * end, and the packed tarball. What they repeat, other files try once.
 */
const atLength = [
  'cli/pack',
  'conformance/servers',
  'docs/story',
  'durability/connections',
  'durability/disk-full',
  'durability/faults',
  'durability/kill',
  'durability/power-loss',
  'durability/schema-change',
  'durability/several-servers-failing',
  'durability/turns',
  'emitted/migrate-waits',
  'import/both-ways',
  'output/interruption',
  'output/node-disk',
  'property/migrations',
  'runtime/dialect/postgres/schema-interrupted',
  'runtime/http/concurrent-writers',
].map((name) => `test/${name}.test.ts`);

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: apart,
          exclude: mode === 'long' ? [] : atLength,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        // These files leave nothing behind in their process, so they share it and its loaded
        // modules.
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...['**/node_modules/**', 'test/bench/**', 'test/golden/**'],
            ...apart,
            ...(mode === 'long' ? [] : atLength),
          ],
          isolate: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    setupFiles: ['test/support/typescript-children.ts', 'test/support/random-input.ts'],
    globalSetup: ['test/support/built-runtime.ts', 'test/support/postgres/keeper.ts'],
    pool: 'forks',
    // Tests of servers in other processes often wait.
    maxWorkers: availableParallelism() + 1,
    // Servers that tests write are compiled already.
    server: { deps: { external: [/\/\.tmp\//] } },
    reporters: ['default', ['json', { outputFile: '.tmp/tests.json' }], new MissingPrograms()],
    // A machine may be ten times slower for a while. A test that never ends still fails.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    // `npm run test:long` sets the mode; `support/long.ts` reads the variable.
    env: mode === 'long' ? { LONG_TESTS: 'on' } : {},
  },
}));
