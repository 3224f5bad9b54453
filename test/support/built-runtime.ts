import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
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
  await bundleKysely();
  process.env[variable] = await runtimeOf({});
}

/**
 * The servers in `.tmp` find Kysely here, in one file: to load its 300 modules is most of the start
 * of a process, and tests start hundreds.
 */
async function bundleKysely(): Promise<void> {
  const installed = join(root, 'node_modules/kysely');
  const version = versionOf(installed);
  const bundle = join(root, '.tmp/node_modules/kysely');
  if (existsSync(bundle) && versionOf(bundle) !== version) rmSync(bundle, { recursive: true });
  await madeOnceLater(bundle, async (folder) => {
    const bundled = await rolldown({ input: join(installed, 'dist/esm/index.js') });
    await bundled.write({ file: join(folder, 'index.js'), codeSplitting: false });
    await bundled.close();
    symlinkSync(join(installed, 'dist/esm'), join(folder, 'types'), 'junction');
    const exports = { '.': { types: './types/index.d.ts', default: './index.js' } };
    const description = { name: 'kysely', version, type: 'module', exports };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  });
}

function versionOf(folder: string): string {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** The folder of the compiled runtime, without types, with the internals that tests read. */
export function builtRuntime(): string {
  const folder = process.env[variable];
  if (folder === undefined)
    throw new Error('The runtime is compiled by the global setup of tests.');
  return folder;
}

/** The folder of the compiled runtime with types, which take longer to compile than most tests run. */
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
