import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../runtime/entity-set/clock.js';
import { Generations } from '../../../runtime/shared-state/generations.js';
import type { Sharing } from '../../../runtime/shared-state/sharing.js';
import { StateDatabase } from '../../../runtime/shared-state/state-database.js';

/** The open state of two processes of a server, inside one process. */
export interface TwoProcesses {
  readonly sharings: readonly [Sharing, Sharing];
  /** Removes all data, so that the next test begins empty. */
  readonly clear: () => void;
  readonly close: () => void;
}

/** @param clock of both; each use is written */
export async function openTwo(clock: Clock): Promise<TwoProcesses> {
  const folder = mkdtempSync(join(tmpdir(), 'two-processes-'));
  const open = async (process: number): Promise<Sharing> => ({
    state: await StateDatabase.open(join(folder, 'state.sqlite')),
    generations: new Generations(join(folder, 'generations'), process),
    clock,
    grain: 0,
  });
  const sharings = [await open(1), await open(2)] as const;
  return {
    sharings,
    clear: () => {
      const [{ state }] = sharings;
      state.change(() => {
        for (const table of tables) state.prepare(`delete from "${table}"`).run();
      });
    },
    close: () => {
      for (const { state, generations } of sharings) {
        state.close();
        generations.close();
      }
      rmSync(folder, { recursive: true });
    },
  };
}

const tables = [
  'session',
  'stored',
  'rate',
  'replaced',
  'lock',
  'entityset',
  'keys',
  'upload',
  'receiving',
];
