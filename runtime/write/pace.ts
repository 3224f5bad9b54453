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
  keep(): Promise<void> | undefined {
    return performance.now() - this.#since < longestStretch ? undefined : this.#pause();
  }

  async #pause(): Promise<void> {
    // The first may run before sockets are read, the second runs after that.
    await immediate();
    await immediate();
    this.#since = performance.now();
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
