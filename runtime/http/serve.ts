import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { readSetting } from '../protocol/environment.js';
import { type AppOptions, closeUnready } from './create-server.js';
import type { CommandOptions } from './database-plugin.js';
import { isOneOfSeveral, type ListeningMessage, stopMessage } from './one-of-several.js';
import { stopOnSignal } from './stop.js';

/** Makes a server, and adds what is the user's own; what it returns is awaited. */
type BuildServer = (options: AppOptions) => FastifyInstance | PromiseLike<FastifyInstance>;

/**
 * Starts a server, and stops it when the process gets a signal: `PORT` (8080, 0 for any), `HOST`
 * (127.0.0.1). Prints one line when it listens; on SIGTERM or SIGINT is not ready any more, waits for
 * `STOP_DELAY` (0 seconds), refuses new requests, finishes the running ones, closes the database and
 * exits with 0, within 20 seconds; on a second signal it exits at once. A start that fails writes the error to stderr and exits with 1.
 *
 * With `PROCESSES` above 1 this process starts that many others, which serve at one address and
 * share what they remember about clients, and restarts one that dies; `build` runs only in those.
 */
export async function serve(build: BuildServer): Promise<void> {
  tuneCollector();
  await warmTicks();
  try {
    if (isOneOfSeveral(process.env)) {
      await serveAsOneOfSeveral(build);
      return;
    }
    const processes = readSetting(process.env, 'PROCESSES');
    const url = processes === 1 ? (await listen(build)).url : await startSeveral(processes);
    if (url !== undefined) process.stdout.write(`listening on ${url}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * Sets flags of V8's garbage collector.
 *
 * - V8 counts the bytes of answers towards the limit of its heap, and starts a full collection at the limit: on Node 24
 *   six times a second under a load of answers of 750 kB, on Node 20 ten times under a load of pages, which took a third
 *   of the processor time. With the flag, the heap may grow to three times its size between two full collections.
 * - Before version 12 (Node 20), V8 may allocate array and object literals in the old generation: see `StatementResult`.
 *   That took a fifth of a small restricted read on PostgreSQL.
 */
function tuneCollector(): void {
  setFlagsFromString('--heap-growing-percent=200');
  const [version] = process.versions.v8.split('.');
  if (Number(version) < 12) setFlagsFromString('--no-allocation-site-pretenuring');
}

/** After so many calls V8 has compiled a function. */
const warmCalls = 5_000;

/**
 * Calls `process.nextTick` until V8 has compiled it, which takes 2 ms. If the first full garbage
 * collection comes before that, V8 forgets the shape of the object that each call makes. Then each
 * call, of which a request makes about ten, takes several times as long while the process lives.
 */
function warmTicks(): Promise<void> {
  return new Promise((resolve) => {
    let calls = 0;
    const call = (): void => {
      calls += 1;
      if (calls < warmCalls) process.nextTick(call);
      else resolve();
    };
    call();
  });
}

/**
 * Serves as one of the processes that `startProcesses` has started, until the parent process or a
 * signal stops it. If the parent dies, Node ends this one.
 */
async function serveAsOneOfSeveral(build: BuildServer): Promise<void> {
  let stop = (): void => {
    // Nobody has been answered yet.
    process.exit(0);
  };
  process.on('message', (message) => {
    if (message === stopMessage) stop();
  });
  try {
    const listening = await listen(build);
    stop = listening.stop;
    const message: ListeningMessage = { url: listening.url };
    process.send?.(message);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    // The connection to the parent process would keep this one alive.
    process.exit(1);
  }
}

/** `node dist/src/migrate.js`: brings the database that `DATABASE_URL` names to the model, with the steps that a start leaves out. */
export async function migrate(options: CommandOptions): Promise<void> {
  const { migrateByCommand } = await import('../migration/command.js');
  await migrateByCommand(options);
}

async function startSeveral(processes: number): Promise<string | undefined> {
  const { startProcesses } = await import('./server-processes.js');
  return startProcesses(processes);
}

interface Listening {
  /** Its address, as clients use it. */
  readonly url: string;
  /** Tells it to stop, as a signal would. */
  readonly stop: () => void;
}

/**
 * Builds a server that listens at `PORT` (8080, 0 for any) and `HOST` (127.0.0.1), until the
 * process gets a signal to stop.
 * @throws Error that names what is wrong, and what `build` throws
 */
async function listen(build: BuildServer): Promise<Listening> {
  const port = readSetting(process.env, 'PORT');
  const delay = readSetting(process.env, 'STOP_DELAY') * 1_000;
  const app = await listening(build, { port, host: readSetting(process.env, 'HOST') });
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

/**
 * Makes stacks name the lines of the user's TypeScript. The runtime's own files stay as they are:
 * they are readable, and their sources are not on the user's disk. Node's own
 * `--enable-source-maps` reads the maps of all files while it loads them, which costs time and
 * memory at each start; this reads them when a stack is formatted. If Node maps stacks itself, as
 * under `tsx`, nothing is changed: only Node has the maps of code that was compiled in memory.
 */
function mapStacks(): void {
  if (process.sourceMapsEnabled) return;
  const maps: KnownMaps = new Map();
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${mapped(frame as Shown, maps)}`)].join('\n');
}

/** What every frame has, whatever its type says. */
interface Shown {
  toString(): string;
}

function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    // What code throws may throw again when it is inspected.
    return 'Error';
  }
}

/**
 * A frame as Node writes it, such as `read (file:///server/main.js:12:34)`, with the place in the
 * source instead.
 */
function mapped(frame: Shown, maps: KnownMaps): string {
  return frame
    .toString()
    .replace(/(file:\/\/[^\s()]+):(\d+):(\d+)/, (place, url: string, line, column) => {
      const source = sourceMapOf(url, maps)?.findEntry(Number(line) - 1, Number(column) - 1);
      // If a line has nothing before the column, the entry is that of an earlier line.
      if (source === undefined || !('generatedLine' in source)) return place;
      if (source.generatedLine !== Number(line) - 1) return place;
      const file = resolve(fileURLToPath(new URL('.', url)), source.originalSource);
      return `${pathToFileURL(file).href}:${source.originalLine + 1}:${source.originalColumn + 1}`;
    });
}

/** The maps of the files that occurred in stacks, which are few. */
type KnownMaps = Map<string, SourceMap | undefined>;

const runtimeFolder = new URL('.', import.meta.url).href;

function sourceMapOf(url: string, maps: KnownMaps): SourceMap | undefined {
  if (url.startsWith(runtimeFolder)) return undefined;
  if (maps.has(url)) return maps.get(url);
  let map: SourceMap | undefined;
  try {
    const file = `${fileURLToPath(url)}.map`;
    if (existsSync(file)) {
      map = new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload);
    }
  } catch {
    // A map that cannot be read leaves the stack unmapped.
  }
  maps.set(url, map);
  return map;
}
