import { type RequestError, refuseBusy } from '../protocol/errors.js';

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
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= this.limits.most) {
      throw unavailable('Too many changes wait for their turn.');
    }
    if (this.#running < this.atOnce) this.#running += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      this.#next();
    }
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

  #turn(): Promise<void> {
    return new Promise((start, reject) => {
      const giveUp = (): void => {
        const seconds = this.limits.longestMilliseconds / 1000;
        const reason = `This change has waited ${seconds} s for the changes before it to end.`;
        reject(unavailable(reason));
      };
      this.#waiting.push({ since: performance.now(), start, giveUp });
      this.#timer ??= this.#watch(this.limits.longestMilliseconds);
    });
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
