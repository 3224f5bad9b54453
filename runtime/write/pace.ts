import { setImmediate } from 'node:timers/promises';

/** Milliseconds. */
const longestStretch = 2;

/**
 * Lets other requests run between the parts of a long one: a statement of SQLite blocks the whole
 * process, and so do slow rules.
 */
export class Pace {
  #since = performance.now();

  /**
   * Waits until requests that arrived meanwhile are answered, if the last such pause was long ago.
   */
  async keep(): Promise<void> {
    if (performance.now() - this.#since < longestStretch) return;
    // The first may run before sockets are read, the second runs after that.
    await setImmediate();
    await setImmediate();
    this.#since = performance.now();
  }
}
