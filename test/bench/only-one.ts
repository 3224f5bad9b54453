import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { work } from './places.js';

const file = join(work, 'running');
let isHeld = false;

/**
 * Makes sure that no other bench runs in this folder until this process ends: it would delete the
 * files of this one, and each would disturb the measurements of the other.
 * @throws Error that names the process that runs
 */
export function beTheOnlyOne(): void {
  if (isHeld) return;
  mkdirSync(work, { recursive: true });
  const other = runningProcess();
  if (other !== undefined) {
    throw new Error(`Another bench is running, process ${other}; wait until it has ended.`);
  }
  rmSync(file, { force: true });
  writeFileSync(file, String(process.pid), { flag: 'wx' });
  isHeld = true;
  process.once('exit', () => {
    rmSync(file, { force: true });
  });
}

/** Also `undefined` if the process that wrote the file has ended without removing it. */
function runningProcess(): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}
