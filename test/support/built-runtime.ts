import { createHash } from 'node:crypto';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildRuntime, buildTypes, sourcesHash } from './build-runtime.mjs';
import { madeOnceLater } from './made-once.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const added = { inside: 'test/support/inside-runtime.ts' };

/** The environment variable with the place of the runtime, for test processes. */
const variable = 'DRS_GEN_RUNTIME';

/**
 * Global setup of Vitest: servers that tests write contain the runtime compiled from the present
 * sources, independent of earlier builds.
 */
export async function setup(): Promise<void> {
  process.env[variable] = await runtimeOf({});
}

/** The folder of the compiled runtime, without types, with the internals that tests read. */
export function builtRuntime(): string {
  const folder = process.env[variable];
  if (folder === undefined)
    throw new Error('The runtime is compiled by the global setup of tests.');
  return folder;
}

/** The same with types, which take longer to compile than most tests run. */
export function typedRuntime(): Promise<string> {
  const runtime = builtRuntime();
  return madeOnceLater(`${runtime}-typed`, async (folder) => {
    cpSync(runtime, folder, { recursive: true });
    await buildTypes(folder);
  });
}

/**
 * A runtime in which some sources are replaced.
 * @param changed by their paths in `runtime/`
 */
export function runtimeOf(changed: Readonly<Record<string, string>>): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(changed)).update(sourcesHash());
  const name = hash
    .update(readFileSync(join(root, added.inside)))
    .digest('hex')
    .slice(0, 24);
  return madeOnceLater(join(root, '.tmp/compiled-runtimes', name), (folder) =>
    buildRuntime(folder, { changed, added }),
  );
}
