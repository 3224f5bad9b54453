import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildRuntime, buildTypes } from './build-runtime.mjs';
import { madeOnceLater } from './made-once.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const added = { inside: 'test/support/inside-runtime.ts' };

/** Tells test processes where the runtime is. */
const variable = 'DRS_GEN_RUNTIME';

/** Vitest's global setup: servers that tests write carry the runtime as its sources are now, whatever was built before. */
export async function setup(): Promise<void> {
  process.env[variable] = await runtimeOf({});
}

/** Folder of the compiled runtime, without its types, and with what tests look at inside of it. */
export function builtRuntime(): string {
  const folder = process.env[variable];
  if (folder === undefined)
    throw new Error('The runtime is compiled by the global setup of tests.');
  return folder;
}

/** The same with its types, which take longer to make than most tests. */
export function typedRuntime(): Promise<string> {
  const runtime = builtRuntime();
  return madeOnceLater(`${runtime}-typed`, async (folder) => {
    cpSync(runtime, folder, { recursive: true });
    await buildTypes(folder);
  });
}

/**
 * A runtime with other texts in the place of some of its sources.
 * @param changed by their paths in `runtime/`
 */
export function runtimeOf(changed: Readonly<Record<string, string>>): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(changed));
  const builder = [join(root, 'test/support/build-runtime.mjs'), join(root, added.inside)];
  for (const file of [...builder, ...sources()]) hash.update(file).update(readFileSync(file));
  const name = hash.digest('hex').slice(0, 24);
  return madeOnceLater(join(root, '.tmp/compiled-runtimes', name), (folder) =>
    buildRuntime(folder, { changed, added }),
  );
}

function sources(): readonly string[] {
  return readdirSync(join(root, 'runtime'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
