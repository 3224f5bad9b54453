/** Lets works of one name take turns, in the order of the calls. */
export class Turns {
  /** The end of the last work, by name; none of these promises rejects. */
  readonly #last = new Map<string, Promise<void>>();

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    return this.#last.size === 0;
  }

  isTaken(name: string): boolean {
    return this.#last.has(name);
  }

  run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const run = async (): Promise<T> => {
      await before;
      try {
        return await work();
      } finally {
        if (this.#last.get(name) === ended) this.#last.delete(name);
      }
    };
    const result = run();
    const ended = result.then(nothing, nothing);
    this.#last.set(name, ended);
    return result;
  }
}

function nothing(): void {
  // The caller of each work handles its errors.
}
