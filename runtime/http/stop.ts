import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Environment, setting } from '../protocol/environment.js';

/**
 * How long running requests and jobs may take to end after the signal; then connections are cut, and
 * jobs are left to another server.
 */
export const graceMilliseconds = 10_000;

/** How long the whole stop may take, after the delay of `STOP_DELAY`. */
export const longestMilliseconds = 20_000;

/** How long to wait for what remains after everything is closed, such as code of the user. */
const restMilliseconds = 1_000;

/**
 * A terminal sends Ctrl-C to every process of a job, and a program that runs the server, such as
 * `tsx`, sends it once more. A signal that follows so soon is the same one.
 */
const echoMilliseconds = 500;

/** The signals that tell a server to stop. */
export const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/** The exit code of a process that a signal ends. */
export function exitCodeOf(signal: (typeof stopSignals)[number]): number {
  return 128 + constants.signals[signal];
}

/**
 * Whether a signal means to end at once a process that began to stop at that time of
 * `performance.now()`.
 */
export function isSecondWish(stoppingSince: number): boolean {
  return performance.now() - stoppingSince > echoMilliseconds;
}

/** Seconds; whatever waits for the end of a server does not wait for longer. */
const longestDelay = 3_600;

/**
 * Milliseconds between the signal and the stop, from `STOP_DELAY` in seconds: so long
 * `/health/ready` already answers 503, and requests are answered as before, until no proxy sends any.
 * @throws Error that names the variable
 */
export function stopDelay(environment: Environment): number {
  const text = setting(environment, 'STOP_DELAY', '0');
  if (/^\d{1,4}$/.test(text) && Number(text) <= longestDelay) return Number(text) * 1_000;
  throw new Error(
    `STOP_DELAY is ${JSON.stringify(text)}; it must be a whole number of seconds from 0 to ${longestDelay}.`,
  );
}

/** When this process began to stop, in time of `performance.now()`. */
let since: number | undefined;

/** Whether this process has got a signal to stop: then it is not ready for new clients. */
export function isStopping(): boolean {
  return since !== undefined;
}

/**
 * Stops a server when its process gets a signal.
 * @param delay see {@link stopDelay}
 * @returns stops it; a second call has no effect
 */
export function stopOnSignal(app: FastifyInstance, delay: number): () => void {
  const stopOnce = (): void => {
    if (since !== undefined) return;
    since = performance.now();
    void stop(app, delay);
  };
  for (const signal of stopSignals) {
    process.on(signal, () => {
      // Exit explicitly: the first process of a container does not die of a signal by itself.
      if (since !== undefined && isSecondWish(since)) process.exit(exitCodeOf(signal));
      stopOnce();
    });
  }
  return stopOnce;
}

async function stop(app: FastifyInstance, delay: number): Promise<void> {
  if (delay > 0) await sleep(delay);
  const cut = setTimeout(() => {
    app.server.closeAllConnections();
  }, graceMilliseconds);
  setTimeout(() => {
    process.stderr.write('Something that runs does not end: the process ends without it.\n');
    process.exit(1);
  }, longestMilliseconds).unref();
  try {
    // A connection whose request still runs would be kept for the client's next one.
    app.server.keepAliveTimeout = 1;
    await app.close();
    process.exitCode = 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    clearTimeout(cut);
    // The connection to the first of several processes must not keep this one alive.
    process.channel?.unref();
    setTimeout(() => process.exit(), restMilliseconds).unref();
  }
}
