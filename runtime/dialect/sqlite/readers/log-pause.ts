import type { WriteAheadLog } from './write-ahead-log.js';

/** Reads that overlap without end would let the log grow without end: from here on they pause. */
const manyBytes = 64 * 1024 * 1024;

/** From here on also for a statement that runs long, which all others then wait for. */
const tooManyBytes = 16 * manyBytes;

/** A statement that runs for longer is not waited for. */
const longMilliseconds = 1_000;

/** How long a pause may take, once nothing runs: another process may still read. */
const mostMilliseconds = 1_000;

/** Until the next attempt, where the log did not begin anew. */
const attemptMilliseconds = 5_000;

/** Tells when reads in other processes have to pause, so that the log of the database can begin anew. */
export class LogPause {
  #next = -Infinity;
  #idleSince: number | undefined;

  constructor(private readonly log: Pick<WriteAheadLog, 'bytes' | 'empty'>) {}

  /**
   * @param running how long each statement has run that runs now; milliseconds
   * @param now of `performance.now()`
   * @returns `running`: when one of them ends, ask again; `soon`: ask again in a moment
   */
  due(running: readonly number[], now: number): 'no' | 'running' | 'soon' {
    if (now < this.#next) return 'no';
    const { bytes } = this.log;
    if (bytes < manyBytes) {
      this.#idleSince = undefined;
      return 'no';
    }
    if (running.length > 0) {
      const isAnyLong = running.some((milliseconds) => milliseconds > longMilliseconds);
      return isAnyLong && bytes < tooManyBytes ? 'no' : 'running';
    }
    this.#idleSince ??= now;
    const isEmpty = this.log.empty();
    if (!isEmpty && now - this.#idleSince < mostMilliseconds) return 'soon';
    if (!isEmpty) this.#next = now + attemptMilliseconds;
    this.#idleSince = undefined;
    return 'no';
  }
}
