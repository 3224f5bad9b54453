import { spawnSync } from 'node:child_process';

/**
 * Runs a command and returns its duration in milliseconds.
 * @throws Error with its output if it fails
 */
export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): number {
  const start = performance.now();
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const milliseconds = performance.now() - start;
  if (error !== undefined) throw error;
  if (status !== 0) {
    const said = `${stdout}\n${stderr}`.trim().slice(-2_000);
    throw new Error(`${command} ${args.join(' ')} ended with ${String(status)}:\n${said}`);
  }
  return milliseconds;
}

/** Runs a script of this folder to its end. `process.exit` also ends the servers that it has started. */
export async function runScript(work: () => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
