import { Worker } from 'node:worker_threads';

/** How often a process that reads looks whether the one that started it is still there. */
const intervalMilliseconds = 500;

/**
 * Kills this process when its parent has ended, be it by `kill -9`. A statement keeps the main thread from hearing of it, for
 * as long as it runs, so another thread looks.
 */
export function endWithParent(): void {
  const watch = `
    const parent = ${String(process.ppid)};
    setInterval(() => {
      if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
    }, ${String(intervalMilliseconds)});
  `;
  const limits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };
  new Worker(watch, { eval: true, resourceLimits: limits, env: {}, execArgv: [] }).unref();
}
