/** Milliseconds. */
const longestStretch = 2;

/**
 * Lets other requests be answered between the parts of a long one: a statement of SQLite holds the whole process, and so do
 * rules that take long.
 */
export class Pace {
  #since = performance.now();

  /** Waits for what has arrived meanwhile to be answered, when much time has passed since the last such pause. */
  keep(): Promise<void> | undefined {
    return performance.now() - this.#since < longestStretch ? undefined : this.#pause();
  }

  async #pause(): Promise<void> {
    // The first may come before sockets are looked at, the second comes behind that.
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
