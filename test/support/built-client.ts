import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emitClient } from '../../generator/emit/emit-client.js';
import type { Model } from '../../generator/model/model.js';
import { buildClient, sourcesHash } from './build-runtime.mjs';
import { madeOnce, madeOnceLater } from './made-once.js';
import { packageRoot } from './server.js';

/** The folder of the runtime of clients, compiled from the present sources. */
export function builtClient(): Promise<string> {
  return madeOnceLater(join(packageRoot, '.tmp/compiled-clients', sourcesHash()), buildClient);
}

/**
 * Writes the client of a model, once.
 * @returns its folder
 */
export async function writeClient(model: Model, role?: string): Promise<string> {
  const clientFolder = await builtClient();
  const input = { packageRoot, clientFolder, ...(role === undefined ? {} : { role }) };
  const files = emitClient(model, input);
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 24);
  return madeOnce(join(packageRoot, '.tmp/clients', hash), (folder) => {
    mkdirSync(folder, { recursive: true });
    for (const { path, text } of files) writeFileSync(join(folder, path), text);
  });
}
