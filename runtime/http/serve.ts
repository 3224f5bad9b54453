import type { AddressInfo } from 'node:net';
import { constants } from 'node:os';
import { inspect } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { setting } from '../protocol/environment.js';

/**
 * Starts a server and stops it again when the process is told to: `PORT` (8080, 0 for any), `HOST` (127.0.0.1). Prints one
 * line when it listens; on SIGTERM or SIGINT takes no more requests, finishes those that run, closes the database and ends
 * with 0, within 20 seconds; on a second signal it ends at once. A start that fails is told on stderr and ends with 1.
 */
export async function serve(build: () => Promise<FastifyInstance>): Promise<void> {
  try {
    const chosenPort = port(setting(process.env, 'PORT', '8080'));
    const app = await build();
    await app.listen({ port: chosenPort, host: setting(process.env, 'HOST', '127.0.0.1') });
    stopOnSignal(app);
    tellRejections();
    const { address, family, port: taken } = app.server.address() as AddressInfo;
    const host = family === 'IPv6' ? `[${address}]` : address;
    process.stdout.write(`listening on http://${host}:${taken}/rest\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * Class code may start something, and not await it. When that fails there is no request to answer: it is logged, and the
 * server goes on, where Node would end the process.
 */
function tellRejections(): void {
  const log = pino(pino.destination(2));
  process.on('unhandledRejection', (reason) => {
    const told = 'Something failed that no code waits for: an await is missing.';
    try {
      const err = reason instanceof Error ? reason : new Error(inspect(reason));
      log.error({ err }, told);
    } catch {
      // What code throws may throw again when it is looked at.
      log.error(told);
    }
  });
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) {
    throw new Error(`PORT is ${JSON.stringify(text)}; it must be a whole number from 0 to 65535.`);
  }
  return value;
}

/** How long requests that run may take to end after the process was told to stop; then their connections are cut. */
const graceMilliseconds = 10_000;

/** How long all of the end may take. */
const longestMilliseconds = 20_000;

/** What is left to do when everything is closed, by code of the user for one, is not waited for any longer. */
const restMilliseconds = 1_000;

function stopOnSignal(app: FastifyInstance): void {
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // As it would end without a handler; the first process of a container would not.
      if (isStopping) process.exit(128 + constants.signals[signal]);
      isStopping = true;
      void stop(app);
    });
  }
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
    // A connection whose request still runs would be kept for the client's next one.
    app.server.keepAliveTimeout = 1;
    await app.close();
    process.exitCode = 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    clearTimeout(cut);
    setTimeout(() => process.exit(), restMilliseconds).unref();
  }
}
