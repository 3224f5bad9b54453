import { Generations } from './generations.js';
import type { AppState } from './joined-state.js';
import { sharedClock } from './shared-clock.js';
import type { Sharing } from './sharing.js';
import { StateDatabase } from './state-database.js';
import { generationsFile, stateFile } from './state-folder.js';

/** A hundredth of a lifetime. */
const grain = 0.01;

/** @throws Error when the package better-sqlite3 is missing, or the state cannot be opened */
export async function openSharing({ folder, app, process, timeBase }: AppState): Promise<Sharing> {
  return {
    state: await StateDatabase.open(stateFile(folder, app)),
    generations: new Generations(generationsFile(folder, app), process),
    clock: sharedClock(timeBase),
    grain,
  };
}
