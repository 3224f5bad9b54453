// What the compiler leaves to do: the command is executable in a checkout too (npm sees to it where it installs), and the
// JSON Schema of model files is there as a file, for editors and tools that take one.
import { chmodSync, writeFileSync } from 'node:fs';

const built = new URL('../../dist/generator/', import.meta.url);
chmodSync(new URL('cli/main.js', built), 0o755);
const { modelSchema } = await import(new URL('source/model.schema.js', built));
writeFileSync(new URL('model.schema.json', built), `${JSON.stringify(modelSchema, null, 2)}\n`);
