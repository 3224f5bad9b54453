import {
  type Client,
  clientLeft,
  DatabaseUnavailableError,
  QueryTimeoutError,
} from '../../executor.js';
import type { SqlValue } from '../../statement.js';
import type { DatabaseFile, WriteAheadLog } from '../database-file.js';
import {
  type ReadAnswer,
  type ReaderSettings,
  type ReadQuestion,
  type ReadReply,
  readyMessage,
} from './messages.js';
import type { Placement } from './placement.js';
import { refuseBusy } from '../../../protocol/errors.js';
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { translateError } from '../errors.js';

/** An idle process ends after this time, so that an idle server has none. */
const idleMilliseconds = 30_000;

/** How long a statement may run whose client has left: starting a process again costs about as much. */
const leftMilliseconds = 250;

/** The interval at which the end of a pause is checked. */
const pauseMilliseconds = 20;

interface ReaderLimits {
  /** Maximum number of processes. */
  readonly processes: number;
  /** Milliseconds that a statement may run; `Infinity` for no limit. */
  readonly longest: number;
}

/** Processes for long reads. They start on demand; one is reserved for statements known to finish within a second. */
export class ReaderPool {
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
  async ask(question: ReadQuestion, placement: Placement, client?: Client): Promise<ReadAnswer> {
    if (client?.hasLeft === true) throw clientLeft();
    const job = new ReadJob(question, placement);
    this.#line.add(job);
    this.#assign();
    const left = (): void => {
      if (!job.isSettled) this.#stop(job);
    };
    client?.signal.addEventListener('abort', left);
    try {
      return await job.promise;
    } finally {
      client?.signal.removeEventListener('abort', left);
    }
  }

  /** Stops running reads and rejects waiting ones, until the processes have exited. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    for (const job of this.#line.empty()) job.reject(closed());
    for (const reader of [...this.#readers]) reader.kill();
    await Promise.all(this.#ends);
  }

  /** The reader is free. */
  onFree(reader: Reader): void {
    this.#free.push(reader);
    this.#assign();
    if (reader.job === undefined) reader.endWhenIdleFor(idleMilliseconds);
  }

  /** The process has exited, by itself or stopped; `job` is its read if that has no result yet. */
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
    const reader = new Reader(this.settings, this, this.limits.longest);
    this.#readers.add(reader);
    const { gone } = reader;
    this.#ends.add(gone);
    void gone.then(() => {
      this.#ends.delete(gone);
      this.#assign();
    });
    return reader;
  }

  /** Nobody waits for the result any more. */
  #stop(job: ReadJob): void {
    job.reject(clientLeft());
    if (this.#line.remove(job)) return;
    const reader = [...this.#readers].find((each) => each.job === job);
    if (reader === undefined) return;
    const stop = (): void => {
      if (reader.job === job) reader.stop();
    };
    setTimeout(stop, Math.max(0, leftMilliseconds - reader.running)).unref();
  }
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
  /** The oldest first. */
  readonly #jobs: ReadJob[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits = { most, mostBytes, longestMilliseconds }) {}

  get length(): number {
    return this.#jobs.length;
  }

  /** @throws RequestError 503 when the queue is full */
  add(job: ReadJob): void {
    const { most, mostBytes } = this.limits;
    if (this.length >= most || (this.length > 0 && this.#bytes + job.bytes > mostBytes)) {
      throw refuseBusy('Too many long reads wait for their turn.');
    }
    this.#insert(this.length, job);
  }

  /** Puts a read back that was taken out. */
  putBack(job: ReadJob): void {
    this.#insert(0, job);
  }

  /** @param isShortOnly whether only a statement known to be short may run */
  take(isShortOnly: boolean): ReadJob | undefined {
    const job = this.#jobs.find(({ isShort }) => isShort || !isShortOnly);
    if (job !== undefined) this.remove(job);
    return job;
  }

  /** @returns whether it was waiting */
  remove(job: ReadJob): boolean {
    const index = this.#jobs.indexOf(job);
    if (index === -1) return false;
    this.#jobs.splice(index, 1);
    this.#bytes -= job.bytes;
    return true;
  }

  /** @returns all reads that were waiting */
  empty(): readonly ReadJob[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#bytes = 0;
    return this.#jobs.splice(0);
  }

  #insert(index: number, job: ReadJob): void {
    this.#jobs.splice(index, 0, job);
    this.#bytes += job.bytes;
    this.#timer ??= this.#watch();
  }

  /** One timer checks all of them periodically. */
  #watch(): NodeJS.Timeout {
    const { longestMilliseconds: longest } = this.limits;
    const timer = setTimeout(() => {
      const latest = performance.now() - longest;
      for (const job of this.#jobs.filter(({ since }) => since <= latest)) {
        this.remove(job);
        job.reject(refuseBusy(`This read has waited ${longest / 1000} s for others to end.`));
      }
      this.#timer = this.length === 0 ? undefined : this.#watch();
    }, longest / 8);
    return timer.unref();
  }
}

/** How long a process may take to open the database. */
const startMilliseconds = 20_000;

const compiled = fileURLToPath(new URL('./reader-process.js', import.meta.url));
const isCompiled = existsSync(compiled);
const script = isCompiled ? compiled : compiled.replace(/\.js$/, '.ts');

/** Without options of debuggers; loaders are kept if the server runs from TypeScript. */
const nodeOptions = isCompiled
  ? []
  : process.execArgv.filter((each) => !/^--(?:inspect|cpu-prof|heap-prof|prof)/.test(each));

/** A process that runs one statement at a time and can be killed to stop it. */
class Reader {
  /** Resolves when the process has exited or could not start. */
  readonly gone: Promise<void>;
  readonly #child: ChildProcess;
  #job: ReadJob | undefined;
  #isReady = false;
  #hasEnded = false;
  #started = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param longest milliseconds that a statement may run; `Infinity` for no limit */
  constructor(
    settings: ReaderSettings,
    private readonly owner: ReaderPool,
    private readonly longest: number,
  ) {
    this.#child = fork(script, [JSON.stringify(settings)], {
      execArgv: nodeOptions,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#timer = setTimeout(() => {
      this.kill();
    }, startMilliseconds).unref();
    this.#child.on('message', (message) => {
      this.#receive(message as ReadReply | typeof readyMessage);
    });
    this.gone = new Promise((resolve) => {
      this.#child.on('exit', () => {
        resolve();
        this.#end();
      });
      this.#child.on('error', () => {
        // A process that could not start emits no exit event.
        if (this.#child.pid === undefined) resolve();
        this.kill();
      });
    });
  }

  /** The current read; it may wait for the process to start. */
  get job(): ReadJob | undefined {
    return this.#job;
  }

  /** Milliseconds that the statement has run. */
  get running(): number {
    return this.#isReady ? performance.now() - this.#started : 0;
  }

  ask(job: ReadJob): void {
    this.#job = job;
    // A pending read keeps the server's process alive.
    this.#child.ref();
    this.#child.channel?.ref();
    if (this.#isReady) this.#send(job);
  }

  /** Ends the process and its read, which is not retried. */
  stop(): void {
    this.#job?.wasStopped();
    this.#job = undefined;
    this.kill();
  }

  /** Ends the process at once; the owner gets its read back. */
  kill(): void {
    // Without a pid, the signal would go to the process group of the server.
    if (this.#child.pid !== undefined) this.#child.kill('SIGKILL');
    // A caller waits for the exit.
    this.#child.ref();
    this.#end();
  }

  /** Ends the process if it is still idle after a while. */
  endWhenIdleFor(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.kill();
    }, milliseconds).unref();
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #send(job: ReadJob): void {
    clearTimeout(this.#timer);
    this.#started = performance.now();
    if (this.longest !== Infinity) {
      this.#timer = setTimeout(() => {
        this.stop();
        job.reject(new QueryTimeoutError(this.longest, undefined));
      }, this.longest);
    }
    // If sending fails, the process exits, which reports the error.
    this.#child.send(job.question, () => undefined);
  }

  #receive(message: ReadReply | typeof readyMessage): void {
    if (this.#hasEnded) return;
    const job = this.#job;
    if (message === readyMessage) {
      this.#isReady = true;
      clearTimeout(this.#timer);
      if (job === undefined) this.owner.onFree(this);
      else this.#send(job);
      return;
    }
    clearTimeout(this.#timer);
    this.#job = undefined;
    if (job !== undefined) settle(job, message);
    this.owner.onFree(this);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    const job = this.#job;
    this.#job = undefined;
    this.owner.onEnd(this, job);
  }
}

function settle(job: ReadJob, reply: ReadReply): void {
  if (!('failure' in reply)) {
    job.resolve(reply.answer, reply.milliseconds);
    return;
  }
  const { code, message } = reply.failure;
  const error = code === undefined ? new Error(message) : new Database.SqliteError(message, code);
  job.reject(translateError(error));
}

/** The approximate size of a bound value in bytes. */
function sizeOf(value: SqlValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
}

/** A read for another process. */
export class ReadJob {
  readonly promise: Promise<ReadAnswer>;
  /** When it was requested. */
  readonly since = performance.now();
  readonly isShort: boolean;
  /** The size of its values. */
  readonly bytes: number;
  /** The number of processes that crashed while they ran it. */
  crashes = 0;
  #resolve: (answer: ReadAnswer) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #isSettled = false;

  /** Whether it has a result, or nobody waits for one. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  constructor(
    readonly question: ReadQuestion,
    private readonly placement: Placement,
  ) {
    this.isShort = placement.isShort;
    this.bytes = question.values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(answer: ReadAnswer, milliseconds: number): void {
    this.#isSettled = true;
    this.placement.record(milliseconds);
    this.#resolve(answer);
  }

  reject(error: Error): void {
    this.#isSettled = true;
    this.#reject(error);
  }

  /** The statement was stopped before it ended. */
  wasStopped(): void {
    this.placement.record(Infinity);
  }
}
