import { join } from 'node:path';
import type { Disk } from './disk.js';
import { errorCode } from './error-code.js';
import type { Host } from './host.js';
import { recordFolder } from './paths.js';
import { Refusal } from './refusal.js';
import { decodeText } from './text.js';

const lockName = 'lock';

/**
 * Whether a name in the record folder is that of a lock, or of a stale lock that was being removed.
 */
export function isLock(name: string): boolean {
  return name === lockName || isLockAside(name);
}

export function isLockAside(name: string): boolean {
  return /^lock-\d+$/.test(name);
}

/** How long to wait for a run to write its number: on a busy machine it may be paused before. */
const patience = { tries: 100, milliseconds: 20 };

/**
 * Runs `work` while no other run writes into the folder; the record folder exists. A lock that
 * cannot be removed afterwards is a warning.
 */
export async function withLock<T>(root: string, host: Host, work: () => Promise<T>): Promise<T> {
  const path = join(root, recordFolder, lockName);
  await takeLock(path, host);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The cause of the failure matters more than a lock that could not be removed: its process is
    // about to end.
    await host.disk.removeFile(path).catch(() => undefined);
    throw error;
  }
  await host.disk.removeFile(path).catch((error: unknown) => {
    // What is written stays written. The next run takes over the lock of a process that has ended.
    const reason = error instanceof Error ? error.message : String(error);
    host.warn(`The lock ${path} could not be removed: ${reason}. Delete it.`);
  });
  return result;
}

/** The content of a lock: the number of its process, nothing yet, or that the lock is gone. */
type Holder = number | 'unknown' | 'gone';

async function takeLock(path: string, host: Host): Promise<void> {
  let unknown = 0;
  while (!(await tryCreate(host.disk, path, `${host.pid}\n`))) {
    const holder = await readHolder(host.disk, path);
    if (holder === 'gone') continue;
    if (holder === 'unknown') {
      // A run that died while it wrote its number leaves a lock that never gets one.
      unknown += 1;
      if (unknown < patience.tries) {
        await host.pause(patience.milliseconds);
        continue;
      }
    } else if (isHeld(holder, host)) throw busy(path, holder);
    await removeStale(path, host, holder);
  }
}

/**
 * Our own number in a lock that we do not hold belongs to a dead process, as happens in containers.
 */
function isHeld(holder: number, host: Host): boolean {
  return holder !== host.pid && host.isAlive(holder);
}

/**
 * Two runs may find the same stale lock: the one that moved a fresh one by mistake puts it back.
 */
async function removeStale(path: string, { disk, pid }: Host, holder: Holder): Promise<void> {
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

async function readHolder(disk: Disk, path: string): Promise<Holder> {
  try {
    const text = decodeText(await disk.read(path));
    return /^\d+\n$/.test(text) ? Number(text) : 'unknown';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'gone';
    throw error;
  }
}

function busy(path: string, holder: number): Refusal {
  return new Refusal(
    `Another run (process ${holder}) is writing into this folder. Wait for it; if there is none, delete ${path}.`,
  );
}
