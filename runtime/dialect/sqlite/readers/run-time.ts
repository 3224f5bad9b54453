/** How many times as long other programs may keep a statement from the processor; what is beyond is time of the disk. */
const mostBeside = 16;

/** A run that ends sooner is short, however much of it the processor worked for others. */
const shortMilliseconds = 5;

/**
 * Measures how long a statement runs, without the time that this process waits for the processor: on
 * a busy machine, that can be most of it.
 */
export class RunTime {
  readonly #start = performance.now();
  readonly #used = process.cpuUsage();

  /** Milliseconds since this object was made. */
  get milliseconds(): number {
    const passed = performance.now() - this.#start;
    // Asking for the used time takes as long as a small statement.
    if (passed < shortMilliseconds) return passed;
    const { user, system } = process.cpuUsage(this.#used);
    return Math.min(passed, Math.max((user + system) / 1_000, passed / mostBeside));
  }
}
