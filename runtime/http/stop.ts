import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

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

/** When this process began to stop, in time of `performance.now()`. */
let since: number | undefined;

/** Whether this process has got a signal to stop: then it is not ready for new clients. */
export function isStopping(): boolean {
  return since !== undefined;
}

/**
 * Stops a server when its process gets a signal.
 * @param delay milliseconds between the signal and the stop: so long `/health/ready` already answers
 *   503, and requests are answered as before, until no proxy sends any
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
