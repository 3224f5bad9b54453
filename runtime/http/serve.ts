import { setting } from '../protocol/environment.js';
import { type BuildServer, listen } from './listen.js';
import { isOneOfSeveral, type ListeningMessage, stopMessage } from './one-of-several.js';
import { startProcesses } from './server-processes.js';
import { availableParallelism } from 'node:os';

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
  try {
    if (isOneOfSeveral(process.env)) {
      await serveAsOneOfSeveral(build);
      return;
    }
    const processes = processCount(setting(process.env, 'PROCESSES', '1'));
    const url = processes === 1 ? (await listen(build)).url : await startProcesses(processes);
    if (url !== undefined) process.stdout.write(`listening on ${url}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
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

/** More are a mistake: each has caches and connections of its own. */
const most = 256;

/**
 * How many processes serve, from `PROCESSES`: a number, or `auto` for one per processor.
 * @throws Error that names the variable
 */
function processCount(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), most);
  const count = Number(text);
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= most) return count;
  throw new Error(
    `PROCESSES is ${JSON.stringify(text)}; it must be a whole number from 1 to ${most}, or auto for one per processor.`,
  );
}
