import type { MemoryDisk } from './memory-disk.js';
import { systemError } from './memory-disk.js';

export interface Fault {
  /** The index of the change that fails, from 0. */
  readonly at: number;
  /** Whether the change happens before it fails, or, for a new file, half of it does. */
  readonly moment: 'before' | 'after' | 'half';
  /**
   * `crash`: the process is dead, and no change follows; `error`: only this change fails; `full`:
   * nothing new can be written from now on.
   */
  readonly kind: 'crash' | 'error' | 'full';
}

/** A view on a disk through which one change fails. */
export function faultyDisk(disk: MemoryDisk, fault: Fault): MemoryDisk & { hasFailed(): boolean } {
  let count = 0;
  let failed = false;

  async function attempt(change: () => Promise<void>, half?: () => Promise<void>): Promise<void> {
    if (failed) {
      if (fault.kind === 'crash') throw systemError('DEAD', 'this process');
      if (fault.kind === 'full' && half !== undefined) throw systemError('ENOSPC', 'disk');
      return change();
    }
    count += 1;
    if (count <= fault.at) return change();
    failed = true;
    if (fault.moment === 'after') await change();
    if (fault.moment === 'half') await half?.();
    throw systemError(fault.kind === 'full' ? 'ENOSPC' : 'EIO', 'disk');
  }

  return {
    ...disk,
    hasFailed: () => failed,
    create: (path, text) =>
      attempt(
        () => disk.create(path, text),
        () => disk.create(path, text.slice(0, text.length / 2)),
      ),
    makeFolder: (path) =>
      attempt(
        () => disk.makeFolder(path),
        () => Promise.resolve(),
      ),
    rename: (from, to) => attempt(() => disk.rename(from, to)),
    removeFile: (path) => attempt(() => disk.removeFile(path)),
    removeFolder: (path) => attempt(() => disk.removeFolder(path)),
    flush: (path) => attempt(() => disk.flush(path)),
  };
}
