import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { setting } from '../protocol/environment.js';
import { closeUnready, type AppOptions } from './create-server.js';
import { mapStacks } from './mapped-stacks.js';
import { stopDelay, stopOnSignal } from './stop.js';

interface Listening {
  /** Its address, as clients use it. */
  readonly url: string;
  /** Tells it to stop, as a signal would. */
  readonly stop: () => void;
}

/** Makes a server, and adds what is the user's own; what it returns is awaited. */
export type BuildServer = (options: AppOptions) => FastifyInstance | PromiseLike<FastifyInstance>;

/**
 * Builds a server that listens at `PORT` (8080, 0 for any) and `HOST` (127.0.0.1), until the
 * process gets a signal to stop.
 * @throws Error that names what is wrong, and what `build` throws
 */
export async function listen(build: BuildServer): Promise<Listening> {
  const chosenPort = port(setting(process.env, 'PORT', '8080'));
  const delay = stopDelay(process.env);
  const app = await listening(build, {
    port: chosenPort,
    host: setting(process.env, 'HOST', '127.0.0.1'),
  });
  const stop = stopOnSignal(app, delay);
  reportRejections();
  mapStacks();
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return { url: `http://${host}:${taken}/rest`, stop };
}

/** A start that fails leaves nothing open that would keep the process alive. */
async function listening(
  build: BuildServer,
  place: { readonly port: number; readonly host: string },
): Promise<FastifyInstance> {
  try {
    const app = await build({});
    try {
      await app.listen(place);
      return app;
    } catch (error) {
      await app.close().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    await closeUnready();
    throw error;
  }
}

/**
 * Class code may start something, and not await it. If that fails there is no request to answer:
 * the error is logged, and the server continues, where Node would end the process.
 */
function reportRejections(): void {
  const log = pino(pino.destination(2));
  process.on('unhandledRejection', (reason) => {
    const message = 'A promise that no code awaits was rejected: an await is missing.';
    try {
      const err = reason instanceof Error ? reason : new Error(inspect(reason));
      log.error({ err }, message);
    } catch {
      // What code throws may throw again when it is inspected.
      log.error(message);
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
