import { type BuildServer, listen } from './listen.js';

/** The message of the first process to the others. */
export const stopMessage = 'stop';

/** The message of a process that listens to the first one. */
export interface ListeningMessage {
  readonly url: string;
}

/**
 * Serves as one of the processes that `startProcesses` has started, until the first process or a
 * signal stops it. If the first process dies, Node ends this one.
 */
export async function serveAsOneOfSeveral(build: BuildServer): Promise<void> {
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
    // The connection to the first process would keep this one alive.
    process.exit(1);
  }
}
