import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { translateError } from '../errors.js';
import {
  type ReaderSettings,
  type ReadReply,
  readyMessage,
  type ReadAnswer,
  type ReadQuestion,
  sizeOf,
} from './messages.js';
import { refuseBusy } from '../../../protocol/errors.js';
import type { AbandonableWork } from '../../abandonable.js';
import type { Placement } from './placement.js';

/** How long a process may take to open the database. */
const startMilliseconds = 20_000;

const compiled = fileURLToPath(new URL('./reader-process.js', import.meta.url));
const isCompiled = existsSync(compiled);
const script = isCompiled ? compiled : compiled.replace(/\.js$/, '.ts');

/** Without options of debuggers; loaders are kept if the server runs from TypeScript. */
const nodeOptions = isCompiled
  ? []
  : process.execArgv.filter((each) => !/^--(?:inspect|cpu-prof|heap-prof|prof)/.test(each));

/** Called with the state of a reader. */
export interface ReaderOwner {
  /** The reader is free. */
  onFree(reader: Reader): void;
  /** The process has exited, by itself or stopped; `job` is its read if that has no result yet. */
  onEnd(reader: Reader, job: ReadJob | undefined): void;
}

/** A process that runs one statement at a time and can be killed to stop it. */
export class Reader {
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
    private readonly owner: ReaderOwner,
    private readonly longest: number,
    private readonly onTimeout: (job: ReadJob) => void,
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
    this.#job?.wasStopped(this.running);
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
        this.onTimeout(job);
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

/** A read for another process. */
export class ReadJob implements AbandonableWork {
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

  /** @param onAbandon called when nobody waits for the result any more */
  constructor(
    readonly question: ReadQuestion,
    private readonly placement: Placement,
    private readonly onAbandon: (job: ReadJob) => void,
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
    this.placement.ran(milliseconds, sizeOf(answer), performance.now());
    this.#resolve(answer);
  }

  reject(error: Error): void {
    this.#isSettled = true;
    this.#reject(error);
  }

  /** The statement was stopped after this time. */
  wasStopped(milliseconds: number): void {
    this.placement.stopped(milliseconds, performance.now());
  }

  abandon(): void {
    if (this.#isSettled) return;
    this.onAbandon(this);
    this.reject(refuseBusy('The client disconnected before it was answered.'));
  }
}
