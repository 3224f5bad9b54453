import { type RequestError, refuseBusy } from '../protocol/errors.js';
import type { Pending } from './pending.js';

/** Each holds the body of a request; they are about a second of work on single entities. */
const most = 1_000;

/** How long a transaction may queue: few clients wait longer. */
const longestMilliseconds = 30_000;

interface Waiting {
  readonly since: number;
  readonly start: () => void;
  readonly giveUp: () => void;
}

/** Starts transactions in order, a limited number at once, with a bounded queue. */
export class WriterLine {
  readonly #waiting: Waiting[] = [];
  readonly #whenIdle: (() => void)[] = [];
  #running = 0;
  /** One timer for the whole queue: a timer for each transaction would cost a tenth of a small change. */
  #timer: NodeJS.Timeout | undefined;

  /** @param atOnce number of concurrent transactions: one if the database has a single writer */
  constructor(
    private readonly limits = { most, longestMilliseconds },
    private readonly atOnce = 1,
  ) {}

  /** Runs `work` in its turn. @throws RequestError 503, without running it, when the queue is full or the wait too long */
  run<T>(work: () => Pending<T>): Pending<T> {
    if (this.#waiting.length >= this.limits.most) {
      return Promise.reject(unavailable('Too many changes wait for their turn.'));
    }
    if (this.#running < this.atOnce) {
      this.#running += 1;
      return this.#run(work);
    }
    // A promise keeps the async context of its caller. Work started by the previous transaction would inherit that
    // one's context.
    return new Promise<void>((begin, reject) => {
      this.#wait(begin, () => {
        const seconds = this.limits.longestMilliseconds / 1000;
        const reason = `This change has waited ${seconds} s for the changes before it to end.`;
        reject(unavailable(reason));
      });
    }).then(() => this.#run(work));
  }

  /** Runs the work and then starts the next one, even after an error. */
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
    // A chain without branches: V8 follows it for the stack of an error.
    return pending.then(
      (result) => {
        this.#next();
        return result;
      },
      (error: unknown) => {
        this.#next();
        throw error;
      },
    );
  }

  /** Resolves as soon as no transaction runs or waits. */
  idle(): Promise<void> {
    return this.#running === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.start();
      return;
    }
    this.#running -= 1;
    if (this.#running > 0 || this.#whenIdle.length === 0) return;
    for (const each of this.#whenIdle.splice(0)) each();
  }

  #wait(start: () => void, giveUp: () => void): void {
    this.#waiting.push({ since: performance.now(), start, giveUp });
    this.#timer ??= this.#watch(this.limits.longestMilliseconds);
  }

  #watch(milliseconds: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#dismissLate();
    }, milliseconds);
    // Each request keeps the process alive itself, so the timer need not.
    return timer.unref();
  }

  #dismissLate(): void {
    const { longestMilliseconds: longest } = this.limits;
    const now = performance.now();
    // A timer may fire slightly early.
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
  return refuseBusy(`${reason} This one was not made.`);
}
