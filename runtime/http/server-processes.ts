import cluster, { type Worker } from 'node:cluster';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { readSetting } from '../protocol/environment.js';
import { environmentOfOne, type ListeningMessage, stopMessage } from './one-of-several.js';
import { exitCodeOf, isSecondWish, longestMilliseconds, stopSignals } from './stop.js';
import type { ChildProcess } from 'node:child_process';

/**
 * A process that has served for that long is restarted at once when it dies; others wait, twice as
 * long each time.
 */
const provenMilliseconds = 10_000;
const shortestPauseMilliseconds = 500;
const longestPauseMilliseconds = 30_000;
/** How long this process waits for the others after the time in which they should have stopped. */
const restMilliseconds = 2_000;

/**
 * Starts a server of several processes, and keeps that number until this process gets a signal to
 * stop.
 * @param count of the processes that serve; this one does not
 * @returns their address, when all of them listen; `undefined` if this process got a signal before
 * @throws Error if one of them cannot start
 */
export async function startProcesses(count: number): Promise<string | undefined> {
  if (cluster.isWorker) {
    throw new Error(
      `PROCESSES is ${count}, and this process is a worker of a cluster, which cannot start others: leave PROCESSES out, or start the server by itself.`,
    );
  }
  // If all of them have died, their successors need the same port.
  if (process.env['PORT'] === '0') process.env['PORT'] = String(await freePort());
  const delay = readSetting(process.env, 'STOP_DELAY') * 1_000;
  const portOfMetrics = readSetting(process.env, 'METRICS_PORT');
  if (portOfMetrics !== undefined) {
    const { serveMetricsOfProcesses } = await import('./metrics.js');
    await serveMetricsOfProcesses(portOfMetrics, process.env);
  }
  return new ServerProcesses(count, delay).start();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, readSetting(process.env, 'HOST'), () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

interface EndedProcess {
  /** The signal or exit code that ended it, in words. */
  readonly died: string;
  readonly code: number | null;
  /** When it began to listen, in time of `performance.now()`; `undefined` if it never did. */
  readonly listened: number | undefined;
}

function stop(worker: Worker, listened: number | undefined): void {
  // A message is lost if a process does not listen for messages yet.
  if (listened === undefined) worker.process.kill('SIGTERM');
  else worker.send(stopMessage);
}

class ServerProcesses {
  /** The running processes, and since when each listens, in time of `performance.now()`. */
  readonly #running = new Map<Worker, number | undefined>();
  readonly #log = pino(pino.destination(2));
  #pause = 0;
  #hasStarted = false;
  #isStopping = false;
  /** When the stop began, in time of `performance.now()`. */
  #stoppingSince: number | undefined;
  #exitCode = 0;
  readonly #pauses = new Set<NodeJS.Timeout>();

  /** @param delay see {@link stopOnSignal} */
  constructor(
    private readonly count: number,
    private readonly delay: number,
  ) {
    this.#stopOnSignal();
  }

  async start(): Promise<string | undefined> {
    try {
      // The first one creates the schema of the database; the others find it.
      const url = await this.#startOne();
      await this.#startOthers();
      return this.#isStopping ? undefined : url;
    } catch (error) {
      if (this.#isStopping) return undefined;
      this.#exitCode = 1;
      this.#isStopping = true;
      // When the message has arrived.
      setImmediate(() => {
        this.#stop();
      });
      throw error;
    }
  }

  async #startOthers(): Promise<void> {
    if (this.#isStopping) return;
    await Promise.all(Array.from({ length: this.count - 1 }, () => this.#startOne()));
    this.#hasStarted = true;
  }

  /** @returns its address, when it listens */
  #startOne(): Promise<string> {
    const worker = cluster.fork(environmentOfOne(this.count));
    closeUnreceived(worker.process);
    this.#running.set(worker, undefined);
    return new Promise((resolve, reject) => {
      worker.on('message', (message: ListeningMessage | object) => {
        // Answers with metrics.
        if (!('url' in message)) return;
        const { url } = message;
        this.#running.set(worker, performance.now());
        // It may have got the signal before it could handle it.
        if (this.#isStopping) worker.send(stopMessage);
        resolve(url);
      });
      // An error of sending to a process that has ended.
      worker.on('error', () => undefined);
      worker.once('exit', (code: number | null, signal: string | null) => {
        const listened = this.#running.get(worker);
        this.#running.delete(worker);
        const died = signal ?? `code ${code ?? 0}`;
        reject(new Error(`A process of the server ended before it listened (${died}).`));
        this.#ended({ died, code, listened });
      });
    });
  }

  #ended({ died, code, listened }: EndedProcess): void {
    if (this.#isStopping) {
      // A starting process dies of the signal, as a server of one process does.
      if (code !== 0 && listened !== undefined) this.#exitCode = 1;
      if (this.#running.size === 0) this.#finish();
      return;
    }
    if (!this.#hasStarted && listened === undefined) return;
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
      // If it ends as well, its exit is handled there.
      this.#startOne().catch(() => undefined);
    }, this.#pause);
    this.#pauses.add(timer);
  }

  #stopOnSignal(): void {
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (this.#stoppingSince !== undefined && isSecondWish(this.#stoppingSince)) {
          this.#killAll();
          process.exit(exitCodeOf(signal));
        }
        this.#stop();
      });
    }
  }

  #stop(): void {
    if (this.#stoppingSince !== undefined) return;
    this.#stoppingSince = performance.now();
    this.#isStopping = true;
    for (const timer of this.#pauses) clearTimeout(timer);
    if (this.#running.size === 0) {
      this.#finish();
      return;
    }
    for (const [worker, listened] of this.#running) stop(worker, listened);
    setTimeout(
      () => {
        this.#exitCode = 1;
        this.#killAll();
      },
      this.delay + longestMilliseconds + restMilliseconds,
    ).unref();
  }

  #killAll(): void {
    for (const worker of this.#running.keys()) worker.process.kill('SIGKILL');
  }

  #finish(): void {
    process.exit(this.#exitCode);
  }
}

/** A connection that Node's cluster passes on, which has no public type. */
interface Handle {
  close(): void;
}

/**
 * Closes the connection that was being passed to a process when it died. Node keeps such a
 * connection open for ever, because nobody has confirmed that it arrived; it passes one at a time.
 */
function closeUnreceived(child: ChildProcess): void {
  let last: Handle | undefined;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  const noting = (...given: unknown[]): boolean => {
    const [message, handle] = given;
    if (isHandOver(message) && isHandle(handle)) last = handle;
    return send(...given);
  };
  child.send = noting;
  child.once('exit', () => {
    // One that has arrived is closed here already, and nothing happens.
    last?.close();
  });
}

function isHandOver(message: unknown): boolean {
  return (
    typeof message === 'object' && message !== null && Reflect.get(message, 'act') === 'newconn'
  );
}

function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}
