import { AbandonablePromise } from '../../abandonable.js';
import { DatabaseUnavailableError, QueryTimeoutError } from '../../executor.js';
import type { DatabaseFile, WriteAheadLog } from '../database-file.js';
import type { ReadAnswer, ReaderSettings, ReadQuestion } from './messages.js';
import { Reader, type ReaderOwner, ReadJob } from './reader.js';
import type { Placement } from './placement.js';
import { refuseBusy } from '../../../protocol/errors.js';

/** An idle process ends after this time, so that an idle server has none. */
const idleMilliseconds = 30_000;

/** How long an abandoned statement may continue: starting a process again costs about as much. */
const abandonedMilliseconds = 250;

/** The interval at which the end of a pause is checked. */
const pauseMilliseconds = 20;

export interface ReaderLimits {
  /** Maximum number of processes. */
  readonly processes: number;
  /** Milliseconds that a statement may run; `Infinity` for no limit. */
  readonly longest: number;
}

/** Processes for long reads. They start on demand; one is reserved for statements known to finish within a second. */
export class ReaderPool implements ReaderOwner {
  readonly #readers = new Set<Reader>();
  /** The exits of all processes, including killed ones: a hanging disk delays an exit. */
  readonly #ends = new Set<Promise<void>>();
  readonly #free: Reader[] = [];
  readonly #line = new WaitingLine();
  readonly #pause: LogPause;
  #isClosed = false;
  #again: NodeJS.Timeout | undefined;

  /** @param file of the database; must be the one that was opened */
  constructor(
    private readonly settings: ReaderSettings,
    private readonly limits: ReaderLimits,
    private readonly file: DatabaseFile,
    log: WriteAheadLog,
  ) {
    this.#pause = new LogPause(log);
  }

  /** Rejects with the errors of an executor's reads, and with `RequestError` 503 when the queue is full. */
  ask(question: ReadQuestion, placement: Placement): AbandonablePromise<ReadAnswer> {
    const job = new ReadJob(question, placement, this.#abandon);
    this.#line.add(job);
    this.#assign();
    return AbandonablePromise.waitingFor(job, job.promise);
  }

  /** Stops running reads and rejects waiting ones, until the processes have exited. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    for (const job of this.#line.empty()) job.reject(closed());
    for (const reader of [...this.#readers]) reader.kill();
    await Promise.all(this.#ends);
  }

  onFree(reader: Reader): void {
    this.#free.push(reader);
    this.#assign();
    if (reader.job === undefined) reader.endWhenIdleFor(idleMilliseconds);
  }

  onEnd(reader: Reader, job: ReadJob | undefined): void {
    this.#readers.delete(reader);
    const index = this.#free.indexOf(reader);
    if (index !== -1) this.#free.splice(index, 1);
    if (job !== undefined) this.#crashed(job);
    this.#assign();
  }

  #crashed(job: ReadJob): void {
    job.crashes += 1;
    if (job.isSettled) return;
    if (this.#isClosed) job.reject(closed());
    else if (job.crashes === 1) this.#line.putBack(job);
    else {
      const reason = 'a process that reads has ended unexpectedly';
      job.reject(new DatabaseUnavailableError(reason, undefined));
    }
  }

  #assign(): void {
    while (this.#free.length > 0 || this.#ends.size < this.limits.processes) {
      if (this.#isClosed || this.#line.length === 0 || this.#isPaused()) return;
      const job = this.#line.take(this.#isLastForShort());
      if (job === undefined) return;
      try {
        (this.#free.pop() ?? this.#start()).ask(job);
      } catch (error) {
        job.reject(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  #isPaused(): boolean {
    const running = [...this.#readers].filter(({ job }) => job !== undefined);
    const due = this.#pause.due(
      running.map((reader) => reader.running),
      performance.now(),
    );
    if (due === 'soon') {
      this.#again ??= setTimeout(() => {
        this.#again = undefined;
        this.#assign();
      }, pauseMilliseconds);
    }
    return due !== 'no';
  }

  #isLastForShort(): boolean {
    const { processes } = this.limits;
    if (processes === 1) return false;
    let others = 0;
    for (const { job } of this.#readers) if (job?.isShort === false) others += 1;
    return others >= processes - 1;
  }

  #start(): Reader {
    this.file.check();
    const reader = new Reader(this.settings, this, this.limits.longest, (job) => {
      job.reject(new QueryTimeoutError(this.limits.longest, undefined));
    });
    this.#readers.add(reader);
    const { gone } = reader;
    this.#ends.add(gone);
    void gone.then(() => {
      this.#ends.delete(gone);
      this.#assign();
    });
    return reader;
  }

  readonly #abandon = (job: ReadJob): void => {
    if (this.#line.remove(job)) return;
    const reader = [...this.#readers].find((each) => each.job === job);
    if (reader === undefined) return;
    const stop = (): void => {
      if (reader.job === job) reader.stop();
    };
    setTimeout(stop, Math.max(0, abandonedMilliseconds - reader.running)).unref();
  };
}

function closed(): Error {
  return new DatabaseUnavailableError('the database is closed', undefined);
}

/** Overlapping reads keep the write-ahead log from restarting: from this size on, reads pause. */
const manyBytes = 64 * 1024 * 1024;

/** From this size on, reads also pause for a long statement, for which all others then wait. */
const tooManyBytes = 16 * manyBytes;

/** Below the larger limit, a statement that runs longer than this is not waited for. */
const longMilliseconds = 1_000;

/** The maximum length of a pause once nothing runs: another process may still read. */
const mostMilliseconds = 1_000;

/** The time until the next attempt if the log did not restart. */
const attemptMilliseconds = 5_000;

/** Decides when offloaded reads have to pause so that the write-ahead log can restart. */
export class LogPause {
  #next = -Infinity;
  #idleSince: number | undefined;

  constructor(private readonly log: Pick<WriteAheadLog, 'bytes' | 'empty'>) {}

  /** @param running how many milliseconds each current statement has run */
  due(running: readonly number[], now: number): 'no' | 'running' | 'soon' {
    if (now < this.#next) return 'no';
    const { bytes } = this.log;
    if (bytes < manyBytes) {
      this.#idleSince = undefined;
      return 'no';
    }
    if (running.length > 0) {
      const isAnyLong = running.some((milliseconds) => milliseconds > longMilliseconds);
      return isAnyLong && bytes < tooManyBytes ? 'no' : 'running';
    }
    this.#idleSince ??= now;
    const isEmpty = this.log.empty();
    if (!isEmpty && now - this.#idleSince < mostMilliseconds) return 'soon';
    if (!isEmpty) this.#next = now + attemptMilliseconds;
    this.#idleSince = undefined;
    return 'no';
  }
}

/** Limits for reads that wait for a process, and for the bytes of their values. */
const most = 500;
const mostBytes = 64 * 1024 * 1024;

/** How long a read may wait: few clients wait longer. */
const longestMilliseconds = 30_000;

/** Reads that wait for a process. First in, first out, except that a process is reserved for short ones. */
export class WaitingLine {
  /** Statements known to be short, and all others. */
  #short: ReadJob[] = [];
  #other: ReadJob[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits = { most, mostBytes, longestMilliseconds }) {}

  get length(): number {
    return this.#short.length + this.#other.length;
  }

  /** @throws RequestError 503 when the queue is full */
  add(job: ReadJob): void {
    const { most, mostBytes } = this.limits;
    if (this.length >= most || (this.length > 0 && this.#bytes + job.bytes > mostBytes)) {
      throw refuseBusy('Too many long reads wait for their turn.');
    }
    (job.isShort ? this.#short : this.#other).push(job);
    this.#bytes += job.bytes;
    this.#timer ??= this.#watch();
  }

  /** Puts a read back that was taken out. */
  putBack(job: ReadJob): void {
    (job.isShort ? this.#short : this.#other).unshift(job);
    this.#bytes += job.bytes;
    this.#timer ??= this.#watch();
  }

  /** @param isShortOnly whether only a statement known to be short may run */
  take(isShortOnly: boolean): ReadJob | undefined {
    const [short] = this.#short;
    const other = isShortOnly ? undefined : this.#other[0];
    const isShortFirst = other === undefined || (short !== undefined && short.since <= other.since);
    const job = isShortFirst ? this.#short.shift() : this.#other.shift();
    if (job !== undefined) this.#bytes -= job.bytes;
    return job;
  }

  /** @returns whether it was waiting */
  remove(job: ReadJob): boolean {
    const line = job.isShort ? this.#short : this.#other;
    const index = line.indexOf(job);
    if (index === -1) return false;
    line.splice(index, 1);
    this.#bytes -= job.bytes;
    return true;
  }

  /** @returns all reads that were waiting */
  empty(): readonly ReadJob[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const all = [...this.#short, ...this.#other];
    this.#short = [];
    this.#other = [];
    this.#bytes = 0;
    return all;
  }

  /** One timer checks all of them periodically. */
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
