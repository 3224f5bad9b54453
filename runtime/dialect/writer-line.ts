import { type RequestError, refuseBusy } from '../protocol/errors.js';
import type { Pending } from './pending.js';

/** Transactions that may wait for their turn: each holds what a client sent. A second's work for single entities. */
const most = 1_000;

/** How long one may wait: by then few clients do. */
const longestMilliseconds = 30_000;

interface Waiting {
  readonly since: number;
  readonly start: () => void;
  readonly giveUp: () => void;
}

/** Lets transactions begin in the order they were asked for, so many at once; only so many of them wait. */
export class WriterLine {
  readonly #waiting: Waiting[] = [];
  #running = 0;
  /** One for all of them: a timer for each would cost a tenth of a small change. */
  #timer: NodeJS.Timeout | undefined;

  /** @param atOnce how many run at the same time: one, where the database has one writer */
  constructor(
    private readonly limits = { most, longestMilliseconds },
    private readonly atOnce = 1,
  ) {}

  /**
   * Runs `work` when all that came before has begun, and there is room.
   * @throws RequestError 503 when too many wait, or this one has waited too long: `work` is not run then; what `work` throws
   */
  run<T>(work: () => Pending<T>): Pending<T> {
    if (this.#waiting.length >= this.limits.most) {
      return Promise.reject(unavailable('Too many changes wait for their turn.'));
    }
    if (this.#running < this.atOnce) {
      this.#running += 1;
      return this.#run(work);
    }
    // A promise keeps the async context of who asked: work that the one before runs would have that one's.
    return new Promise<void>((begin, reject) => {
      this.#wait(begin, () => {
        const seconds = this.limits.longestMilliseconds / 1000;
        const reason = `This change has waited ${seconds} s for the changes before it to end.`;
        reject(unavailable(reason));
      });
    }).then(() => this.#run(work));
  }

  /** Whatever becomes of the work, the next one has its turn; whoever waits for this one goes on first. */
  #run<T>(work: () => Pending<T>): Pending<T> {
    let pending: Pending<T>;
    try {
      pending = work();
    } catch (error) {
      this.#next();
      throw error;
    }
    if (!(pending instanceof Promise)) {
      this.#next();
      return pending;
    }
    const result = pending;
    return new Promise<T>((resolve, reject) => {
      void result.then(resolve, reject).then(() => {
        this.#next();
      });
    });
  }

  /** Ends when everything that was asked for so far, where one runs at a time, has ended, or has waited too long. */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wait(() => {
        resolve();
        this.#next();
      }, resolve);
    });
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next.start();
  }

  #wait(start: () => void, giveUp: () => void): void {
    this.#waiting.push({ since: performance.now(), start, giveUp });
    this.#timer ??= this.#watch(this.limits.longestMilliseconds);
  }

  #watch(milliseconds: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#dismissLate();
    }, milliseconds);
    // What waits is waited for elsewhere, and nobody waits for the timer.
    return timer.unref();
  }

  #dismissLate(): void {
    const { longestMilliseconds: longest } = this.limits;
    const now = performance.now();
    // A timer may end a moment early.
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const left = first.since + longest - now;
      if (left > 1) {
        this.#timer = this.#watch(left);
        return;
      }
      this.#waiting.shift();
      first.giveUp();
    }
    this.#timer = undefined;
  }
}

function unavailable(reason: string): RequestError {
  return refuseBusy(`${reason} Nothing of this one was done.`);
}
