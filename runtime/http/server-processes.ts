import cluster, { type Worker } from 'node:cluster';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { removeLeftovers } from '../media/upload-folder.js';
import { setting } from '../protocol/environment.js';
import { forgetProcess } from '../shared-state/forget-process.js';
import { joiningEnvironment } from '../shared-state/joined-state.js';
import { timeBase } from '../shared-state/shared-clock.js';
import { keepFresh, makeStateFolder, removeStateFolder } from '../shared-state/state-folder.js';
import { closeUnreceived } from './handed-over.js';
import { type ListeningMessage, stopMessage } from './serve-as-one-of-several.js';
import { exitCodeOf, longestMilliseconds, stopSignals } from './stop.js';

/** A process that has served so long is started anew at once when it dies; others wait, twice as long each time. */
const provenMilliseconds = 10_000;
const shortestPauseMilliseconds = 500;
const longestPauseMilliseconds = 30_000;
/** How much longer than the others may take to stop this process waits for them. */
const restMilliseconds = 2_000;

/**
 * Starts a server of several processes, and keeps that many until this one is told to stop.
 * @param count of the processes that serve; this one does not
 * @returns their address, when all of them listen; `undefined` when this process was told to stop before
 * @throws Error when one of them cannot start
 */
export async function startProcesses(count: number): Promise<string | undefined> {
  await removeLeftovers();
  // When all of them have died, those that come after them need the same one.
  if (process.env['PORT'] === '0') process.env['PORT'] = String(await freePort());
  return new ServerProcesses(count, makeStateFolder()).start();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, setting(process.env, 'HOST', '127.0.0.1'), () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

class ServerProcesses {
  readonly #timeBase = timeBase();
  readonly #stopKeepingFresh: () => void;
  readonly #running = new Set<Worker>();
  readonly #log = pino(pino.destination(2));
  #started = 0;
  #pause = 0;
  #hasStarted = false;
  #isStopping = false;
  #exitCode = 0;
  readonly #pauses = new Set<NodeJS.Timeout>();

  constructor(
    private readonly count: number,
    private readonly folder: string,
  ) {
    this.#stopKeepingFresh = keepFresh(folder);
    process.once('exit', () => {
      removeStateFolder(folder);
    });
    this.#stopOnSignal();
  }

  async start(): Promise<string | undefined> {
    try {
      // The first one makes the schema of the database; the others find it.
      const url = await this.#startOne();
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.#startOne()));
      this.#hasStarted = true;
      return this.#isStopping ? undefined : url;
    } catch (error) {
      if (this.#isStopping) return undefined;
      this.#exitCode = 1;
      this.#isStopping = true;
      // When it is told.
      setImmediate(() => {
        this.#stop();
      });
      throw error;
    }
  }

  /** @returns its address, when it listens */
  #startOne(): Promise<string> {
    this.#started += 1;
    const number = this.#started;
    const { folder, count: processes } = this;
    const worker = cluster.fork(
      joiningEnvironment({ folder, process: number, processes, timeBase: this.#timeBase }),
    );
    closeUnreceived(worker.process);
    this.#running.add(worker);
    let listened: number | undefined;
    return new Promise((resolve, reject) => {
      worker.on('message', ({ url }: ListeningMessage) => {
        listened = performance.now();
        resolve(url);
      });
      // Of a process that has gone while it was told something.
      worker.on('error', () => undefined);
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.#running.delete(worker);
        const died = signal ?? `code ${code ?? 0}`;
        reject(new Error(`A process of the server ended before it listened (${died}).`));
        void this.#ended(number, died, code, listened);
      });
    });
  }

  async #ended(
    number: number,
    died: string,
    code: number | null,
    listened: number | undefined,
  ): Promise<void> {
    if (this.#isStopping) {
      if (code !== 0) this.#exitCode = 1;
      if (this.#running.size === 0) this.#finish();
      return;
    }
    if (!this.#hasStarted && listened === undefined) return;
    await forgetProcess(this.folder, number).catch((error: unknown) => {
      this.#log.error({ err: error }, 'What a process of the server left behind stays there.');
    });
    const isProven = listened !== undefined && performance.now() - listened > provenMilliseconds;
    this.#startAgain(died, isProven);
  }

  #startAgain(died: string, isProven: boolean): void {
    if (this.#isStopping) return;
    const doubled = Math.max(shortestPauseMilliseconds, this.#pause * 2);
    this.#pause = isProven ? 0 : Math.min(longestPauseMilliseconds, doubled);
    this.#log.error(
      `A process of the server has ended (${died}). Another one starts in ${this.#pause / 1000} s.`,
    );
    const timer = setTimeout(() => {
      this.#pauses.delete(timer);
      // When it ends as well, that is told there.
      this.#startOne().catch(() => undefined);
    }, this.#pause);
    this.#pauses.add(timer);
  }

  #stopOnSignal(): void {
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (this.#isStopping) {
          this.#killAll();
          process.exit(exitCodeOf(signal));
        }
        this.#stop();
      });
    }
  }

  #stop(): void {
    this.#isStopping = true;
    for (const timer of this.#pauses) clearTimeout(timer);
    this.#stopKeepingFresh();
    if (this.#running.size === 0) {
      this.#finish();
      return;
    }
    for (const worker of this.#running) worker.send(stopMessage);
    setTimeout(() => {
      this.#exitCode = 1;
      this.#killAll();
    }, longestMilliseconds + restMilliseconds).unref();
  }

  #killAll(): void {
    for (const worker of this.#running) worker.process.kill('SIGKILL');
  }

  #finish(): void {
    process.exit(this.#exitCode);
  }
}
