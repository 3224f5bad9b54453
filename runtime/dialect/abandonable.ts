/** What can be given up when nobody waits for it any more. */
export interface AbandonableWork {
  abandon(): void;
}

/**
 * The promise of a long read. Whoever loses interest abandons it: what it waits for, and what was made of it with `then`, is
 * given up then, where that is possible, and the promise fails.
 */
export class AbandonablePromise<T> extends Promise<T> implements AbandonableWork {
  /** What it waits for now. */
  #source: AbandonableWork | undefined;
  #isAbandoned = false;

  /** Plain promises are made of it where nothing else is said: by `finally`, for one. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @param source what the promise waits for */
  static waitingFor<T>(source: AbandonableWork, promise: Promise<T>): AbandonablePromise<T> {
    const result = new AbandonablePromise<T>((resolve, reject) => {
      promise.then(resolve, reject);
    });
    result.#source = source;
    return result;
  }

  override then<R = T, E = never>(
    fulfilled?: ((value: T) => R | PromiseLike<R>) | null,
    rejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    if (typeof fulfilled !== 'function') return super.then(fulfilled, rejected);
    const next = super.then((value) => {
      const result = fulfilled(value);
      derived.follow(result);
      return result;
    }, rejected);
    const derived = AbandonablePromise.waitingFor<R | E>(this, next);
    return derived;
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.#source?.abandon();
  }

  /** Waits for the next read that an answer led to. */
  follow(result: unknown): void {
    this.#source = result instanceof AbandonablePromise ? result : undefined;
    if (this.#isAbandoned) this.#source?.abandon();
  }
}
