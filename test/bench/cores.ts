import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Which cores the server and the load run on, so that neither takes time from the other; `undefined` where processes cannot be
 * bound to cores.
 */
export function chooseCores():
  { readonly server: string; readonly load: readonly string[] } | undefined {
  const count = availableParallelism();
  if (count < 2 || spawnSync('taskset', ['-V']).status !== 0) return undefined;
  const load = count === 2 ? ['0'] : [String(count - 3), String(count - 2)];
  return { server: String(count - 1), load };
}

/** The command that runs another one on one core. */
export function pinned(
  core: string | undefined,
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] {
  return core === undefined ? [command, args] : ['taskset', ['-c', core, command, ...args]];
}
