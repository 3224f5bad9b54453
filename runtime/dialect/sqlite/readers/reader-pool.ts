import { AbandonablePromise } from '../../abandonable.js';
import { DatabaseUnavailableError, QueryTimeoutError } from '../../executor.js';
import type { DatabaseFile } from '../database-file.js';
import type { ReadAnswer, ReaderSettings, ReadQuestion } from './messages.js';
import { LogPause } from './log-pause.js';
import { ReadJob } from './read-job.js';
import { Reader, type ReaderOwner } from './reader.js';
import type { Placement } from './placement.js';
import { WaitingLine } from './waiting-line.js';
import type { WriteAheadLog } from './write-ahead-log.js';

/** A process that is not asked for so long ends: at rest there is none. */
const idleMilliseconds = 30_000;

/** A statement that nobody waits for any more may go on for so long: to start a process again costs about as much. */
const abandonedMilliseconds = 250;

/** Until the next look whether a pause is over. */
const pauseMilliseconds = 20;

export interface ReaderLimits {
  /** How many processes there may be. */
  readonly processes: number;
  /** Milliseconds that a statement may run; `Infinity` without such a limit. */
  readonly longest: number;
}

/**
 * Processes that run what takes long, so that it stops nobody. They are started when they are needed. A statement that has
 * not shown to end soon never gets the last one.
 */
export class ReaderPool implements ReaderOwner {
  readonly #readers = new Set<Reader>();
  /** The ends of all that are there, also of those that were killed: a hung disk keeps one of these for as long as it hangs. */
  readonly #ends = new Set<Promise<void>>();
  readonly #free: Reader[] = [];
  readonly #line = new WaitingLine();
  readonly #pause: LogPause;
  #isClosed = false;
  #again: NodeJS.Timeout | undefined;

  /** @param file of the database, which must be the one that was opened */
  constructor(
    private readonly settings: ReaderSettings,
    private readonly limits: ReaderLimits,
    private readonly file: DatabaseFile,
    log: WriteAheadLog,
  ) {
    this.#pause = new LogPause(log);
  }

  /** Fails with what an executor's reads fail with; with `RequestError` 503 when too many wait. */
  ask(question: ReadQuestion, placement: Placement): AbandonablePromise<ReadAnswer> {
    const job = new ReadJob(question, placement, this.#abandon);
    this.#line.add(job);
    this.#assign();
    return AbandonablePromise.waitingFor(job, job.promise);
  }

  /**
   * Stops what runs; whoever waits is told so.
   * @returns when the processes are gone
   */
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
