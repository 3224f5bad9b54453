// The steps after the compiler: makes the command executable in a checkout (npm does so for
// installed packages), writes the JSON Schema of model files as a file for editors and tools, and
// compiles the runtime for servers, and that of clients.
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildClient, buildRuntime, buildTypes } from './build-runtime.mjs';

const built = new URL('../../dist/generator/', import.meta.url);
chmodSync(new URL('cli/main.js', built), 0o755);
const { modelSchema } = await import(new URL('source/model.schema.js', built));
writeFileSync(new URL('model.schema.json', built), `${JSON.stringify(modelSchema, null, 2)}\n`);

const runtime = fileURLToPath(new URL('../../dist/runtime/', import.meta.url));
// The generator uses parts of it, which the compiler has written into its folders.
for (const each of existsSync(runtime) ? readdirSync(runtime, { withFileTypes: true }) : []) {
  if (each.isFile()) rmSync(join(runtime, each.name));
}
const client = fileURLToPath(new URL('../../dist/client/', import.meta.url));
rmSync(client, { recursive: true, force: true });
await Promise.all([buildRuntime(runtime), buildTypes(runtime), buildClient(client)]);
