import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { StateDatabase } from './state-database.js';
import { isStateFile, removeReceived } from './state-folder.js';

/**
 * Cleans up after a process that has ended: frees the space of the uploads that it was receiving,
 * and removes their files. The sessions of its clients continue.
 * @param folder of the server
 * @param process its number
 */
export async function forgetProcess(folder: string, process: number): Promise<void> {
  const kept = new Set<unknown>();
  for (const name of readdirSync(folder).filter(isStateFile)) {
    const state = await StateDatabase.open(join(folder, name));
    try {
      const forget = state.prepare('delete from "receiving" where "process" = ?');
      state.change(() => forget.run(process));
      for (const path of state.prepare('select "path" from "upload"').all()) kept.add(path);
    } finally {
      state.close();
    }
  }
  removeReceived(folder, process, (path) => kept.has(path));
}
