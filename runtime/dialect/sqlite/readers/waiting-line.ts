import { refuseBusy } from '../../../protocol/errors.js';
import type { ReadJob } from './read-job.js';

/** Reads that may wait for a process, and the bytes of their values. */
const most = 500;
const mostBytes = 64 * 1024 * 1024;

/** How long one may wait: by then few clients do. */
const longestMilliseconds = 30_000;

/** Reads that wait for a process. What comes first goes first, but for what must leave a process to others. */
export class WaitingLine {
  /** Statements that have shown to end soon, and all others. */
  #short: ReadJob[] = [];
  #other: ReadJob[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits = { most, mostBytes, longestMilliseconds }) {}

  get length(): number {
    return this.#short.length + this.#other.length;
  }

  /** @throws RequestError 503 when too many wait */
  add(job: ReadJob): void {
    const { most, mostBytes } = this.limits;
    if (this.length >= most || (this.length > 0 && this.#bytes + job.bytes > mostBytes)) {
      throw refuseBusy('Too many long reads wait for their turn.');
    }
    (job.isShort ? this.#short : this.#other).push(job);
    this.#bytes += job.bytes;
    this.#timer ??= this.#watch();
  }

  /** Puts one back that was taken out. */
  putBack(job: ReadJob): void {
    (job.isShort ? this.#short : this.#other).unshift(job);
    this.#bytes += job.bytes;
    this.#timer ??= this.#watch();
  }

  /** @param isShortOnly whether only a statement that has shown to end soon may go */
  take(isShortOnly: boolean): ReadJob | undefined {
    const [short] = this.#short;
    const other = isShortOnly ? undefined : this.#other[0];
    const isShortFirst = other === undefined || (short !== undefined && short.since <= other.since);
    const job = isShortFirst ? this.#short.shift() : this.#other.shift();
    if (job !== undefined) this.#bytes -= job.bytes;
    return job;
  }

  /** @returns whether it waited */
  remove(job: ReadJob): boolean {
    const line = job.isShort ? this.#short : this.#other;
    const index = line.indexOf(job);
    if (index === -1) return false;
    line.splice(index, 1);
    this.#bytes -= job.bytes;
    return true;
  }

  /** @returns all that waited */
  empty(): readonly ReadJob[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const all = [...this.#short, ...this.#other];
    this.#short = [];
    this.#other = [];
    this.#bytes = 0;
    return all;
  }

  /** One timer for all of them looks once in a while. */
  #watch(): NodeJS.Timeout {
    const { longestMilliseconds: longest } = this.limits;
    const timer = setTimeout(() => {
      const latest = performance.now() - longest;
      for (const line of [this.#short, this.#other]) {
        for (let first = line[0]; first !== undefined && first.since <= latest; first = line[0]) {
          this.remove(first);
          first.reject(refuseBusy(`This read has waited ${longest / 1000} s for others to end.`));
        }
      }
      this.#timer = this.length === 0 ? undefined : this.#watch();
    }, longest / 8);
    return timer.unref();
  }
}
