import type { Pending } from './pending.js';

/** Work that can be stopped when nobody waits for it any more. */
export interface AbandonableWork {
  abandon(): void;
}

/** The promise of a long read: abandoning it stops the read behind it, and those derived with `then`; it rejects. */
export class AbandonablePromise<T> extends Promise<T> implements AbandonableWork {
  /** The work behind the promise at the moment. */
  #source: AbandonableWork | undefined;
  #isAbandoned = false;

  /** Methods such as `finally` return plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @param source the work that `abandon` stops */
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

  /** Continues with the next read that a result led to. */
  follow(result: unknown): void {
    this.#source = result instanceof AbandonablePromise ? result : undefined;
    if (this.#isAbandoned) this.#source?.abandon();
  }
}

/** Continues with a result as `whenThere` does; a long read that begins then can be abandoned as others can. */
export function abandonably<T, R>(
  pending: Pending<T>,
  next: (result: T) => Pending<R>,
): Pending<R> {
  return pending instanceof Promise
    ? AbandonablePromise.waitingFor({ abandon: () => undefined }, pending).then(next)
    : next(pending);
}
