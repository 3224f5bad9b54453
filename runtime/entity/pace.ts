/** Milliseconds. */
const longestStretch = 20;

/**
 * Lets other requests be answered between the statements of a long transaction: while a statement runs, SQLite holds the
 * whole process.
 */
export class Pace {
  #since = performance.now();

  /** Waits for what has arrived meanwhile to be answered, when much time has passed since the last such pause. */
  async keep(): Promise<void> {
    if (performance.now() - this.#since < longestStretch) return;
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
