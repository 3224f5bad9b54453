/** Measures how long nothing has been asked of a transaction. */
export class IdleClock {
  #running = 0;
  #since = performance.now();

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    this.#since = performance.now();
  }

  /** Milliseconds; 0 while a statement runs. */
  get idle(): number {
    return this.#running > 0 ? 0 : performance.now() - this.#since;
  }
}

/**
 * Waits for work that a clock is told of.
 * @param longest milliseconds that it may be idle
 * @param expired called when it was idle for longer; what this returns is thrown, and nobody waits for the work any more
 */
export function unlessIdle<T>(
  work: Promise<T>,
  clock: IdleClock,
  longest: number,
  expired: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const look = (): void => {
      const { idle } = clock;
      if (idle >= longest) reject(expired());
      else timer = lookIn(longest - idle);
    };
    // A process that has nothing else to do may end.
    const lookIn = (milliseconds: number): NodeJS.Timeout =>
      setTimeout(look, Math.ceil(milliseconds)).unref();
    let timer = lookIn(longest);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
