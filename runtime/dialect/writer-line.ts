import { protocolError, RequestError } from '../protocol/errors.js';

/** Transactions that may wait for their turn: each holds what a client sent. A second's work for single entities. */
const most = 1_000;

/** How long one may wait: by then few clients do. */
const longestMilliseconds = 30_000;

/** Lets transactions run one after the other, in the order they were asked for, and only so many of them wait. */
export class WriterLine {
  #waiting = 0;
  /** Ends when the last transaction asked for so far has ended; never fails. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly limits = { most, longestMilliseconds }) {}

  /**
   * Runs `work` when all that came before has ended.
   * @throws RequestError 503 when too many wait, or this one has waited too long: `work` is not run then; what `work` throws
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.limits.most) {
      return Promise.reject(unavailable('Too many changes wait for their turn.'));
    }
    this.#waiting += 1;
    return new Promise<T>((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.#waiting -= 1;
        const seconds = this.limits.longestMilliseconds / 1000;
        reject(
          unavailable(`This change has waited ${seconds} s for the changes before it to end.`),
        );
      }, this.limits.longestMilliseconds);
      this.#last = this.#last.then(() => {
        if (isLate) return undefined;
        clearTimeout(timer);
        this.#waiting -= 1;
        // Whatever becomes of it, the next one has its turn.
        return work().then(resolve, reject);
      });
    });
  }

  /** Ends when everything that was asked for so far has ended. */
  idle(): Promise<unknown> {
    return this.#last;
  }
}

function unavailable(reason: string): RequestError {
  const text = `${reason} Nothing of this one was done.`;
  return new RequestError(503, [protocolError('unavailable', text)], { 'retry-after': '1' });
}
