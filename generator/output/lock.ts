import { join } from 'node:path';
import type { Disk } from './disk.js';
import { errorCode } from './error-code.js';
import type { Host } from './host.js';
import { recordFolder } from './paths.js';
import { Refusal } from './refusal.js';
import { decodeText } from './text.js';

const lockName = 'lock';

/** Whether a name in the record folder is a lock's, or that of a stale one that was being removed. */
export function isLock(name: string): boolean {
  return name === lockName || isLockAside(name);
}

export function isLockAside(name: string): boolean {
  return /^lock-\d+$/.test(name);
}

const patience = { tries: 5, milliseconds: 20 };

/** Runs `work` while no other run writes into the folder; the record folder exists. */
export async function withLock<T>(root: string, host: Host, work: () => Promise<T>): Promise<T> {
  const path = join(root, recordFolder, lockName);
  await takeLock(path, host);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The reason of the failure matters more than a lock that could not be removed: it names a dead process soon.
    await host.disk.removeFile(path).catch(() => undefined);
    throw error;
  }
  await host.disk.removeFile(path);
  return result;
}

async function takeLock(path: string, host: Host): Promise<void> {
  for (let left = patience.tries; left > 0; left -= 1) {
    if (await tryCreate(host.disk, path, `${host.pid}\n`)) return;
    const holder = await readHolder(host.disk, path);
    if (holder === undefined) await host.pause(patience.milliseconds);
    else if (isHeld(holder, host)) throw busy(path, holder);
    else await removeStale(path, host, holder);
  }
  // A lock without a holder for so long was left by a run that died while it wrote the number.
  await host.disk.removeFile(path);
  if (!(await tryCreate(host.disk, path, `${host.pid}\n`))) throw busy(path, undefined);
}

/** Our own number in a lock that we do not hold is that of a dead process, as happens in containers. */
function isHeld(holder: number, host: Host): boolean {
  return holder !== host.pid && host.isAlive(holder);
}

/** Two runs may find the same stale lock: the one that moved a fresh one away by mistake gives it back. */
async function removeStale(path: string, { disk, pid }: Host, holder: number): Promise<void> {
  const aside = `${path}-${pid}`;
  try {
    await disk.rename(path, aside);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readHolder(disk, aside)) === holder) await disk.removeFile(aside);
  else await disk.rename(aside, path);
}

async function tryCreate(disk: Disk, path: string, text: string): Promise<boolean> {
  try {
    await disk.create(path, text);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function readHolder(disk: Disk, path: string): Promise<number | undefined> {
  try {
    const text = decodeText(await disk.read(path)).trim();
    return /^\d+$/.test(text) ? Number(text) : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function busy(path: string, holder: number | undefined): Refusal {
  const who = holder === undefined ? 'Another run' : `Another run (process ${holder})`;
  return new Refusal(
    `${who} is writing into this folder. Wait for it; if there is none, delete ${path}.`,
  );
}
