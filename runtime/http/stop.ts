import { constants } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { ServerResponse } from 'node:http';
import { http } from './node-http.js';
import { isFollowed } from './waiting-requests.js';

/** How long requests that run may take to end after the process was told to stop; then their connections are cut. */
const graceMilliseconds = 10_000;

/** How long all of the end may take. */
export const longestMilliseconds = 20_000;

/** What is left to do when everything is closed, by code of the user for one, is not waited for any longer. */
const restMilliseconds = 1_000;

/**
 * A terminal tells Ctrl-C to every process that it runs, and a program that runs the server, `tsx` for one, tells it once more.
 * What comes so soon is the same wish.
 */
const echoMilliseconds = 500;

/** The signals that tell a server to stop. */
export const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/** What a process ends with when a signal ends it. */
export function exitCodeOf(signal: (typeof stopSignals)[number]): number {
  return 128 + constants.signals[signal];
}

/** Whether a signal tells a process to end at once that began to stop at that time of `performance.now()`. */
export function isSecondWish(stoppingSince: number): boolean {
  return performance.now() - stoppingSince > echoMilliseconds;
}

/**
 * Stops a server when its process is told to.
 * @returns stops it; a second time nothing happens
 */
export function stopOnSignal(app: FastifyInstance): () => void {
  let since: number | undefined;
  const stopOnce = (): void => {
    if (since !== undefined) return;
    since = performance.now();
    void stop(app);
  };
  for (const signal of stopSignals) {
    process.on(signal, () => {
      // As it would end without a handler; the first process of a container would not.
      if (since !== undefined && isSecondWish(since)) process.exit(exitCodeOf(signal));
      stopOnce();
    });
  }
  return stopOnce;
}

async function stop(app: FastifyInstance): Promise<void> {
  const cut = setTimeout(() => {
    app.server.closeAllConnections();
  }, graceMilliseconds);
  setTimeout(() => {
    process.stderr.write('Something that runs does not end: the process ends without it.\n');
    process.exit(1);
  }, longestMilliseconds).unref();
  try {
    announceClosing();
    // A connection whose request still runs would be kept for the client's next one.
    app.server.keepAliveTimeout = 1;
    await app.close();
    process.exitCode = 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    clearTimeout(cut);
    // The connection to the first of several processes keeps none of them alive.
    process.channel?.unref();
    setTimeout(() => process.exit(), restMilliseconds).unref();
  }
}

/**
 * Lets every answer that the process begins from now on say `Connection: close`: its client sends nothing more on a connection
 * that is closed behind it. For a process that ends. What changes is what all answers share, since those of requests that run
 * already are listed nowhere, which would cost each request something.
 */
function announceClosing(): void {
  const answers = http.ServerResponse.prototype;
  const begin = Object.getOwnPropertyDescriptor(answers, 'writeHead')?.value as Begin;
  answers.writeHead = function (this: ServerResponse, ...given: unknown[]) {
    // What is behind it would be done and never answered.
    if (!isFollowed(this)) this.shouldKeepAlive = false;
    return begin.apply(this, given);
  };
}

type Begin = (this: ServerResponse, ...given: unknown[]) => ServerResponse;
