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
  readonly #used: NodeJS.CpuUsage | undefined;

  /** @param isExact whether to ask for the processor's time, which takes as long as a small statement */
  constructor(isExact = true) {
    this.#used = isExact ? process.cpuUsage() : undefined;
  }

  /** Milliseconds since this object was made; of a long run that is not exact, the least that it may have taken. */
  get milliseconds(): number {
    const passed = this.#passed;
    if (passed < shortMilliseconds) return passed;
    const least = passed / mostBeside;
    if (this.#used === undefined) return least;
    const { user, system } = process.cpuUsage(this.#used);
    return Math.min(passed, Math.max((user + system) / 1_000, least));
  }

  /** Whether the run may have taken longer than {@link milliseconds} says. */
  get isDoubtful(): boolean {
    return this.#used === undefined && this.#passed >= shortMilliseconds;
  }

  get #passed(): number {
    return performance.now() - this.#start;
  }
}
