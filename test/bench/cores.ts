import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Which cores the server and the load run on, so that neither takes time from the other; `undefined` where processes cannot be
 * bound to cores.
 * @param count cores that the server gets
 */
export function chooseCores(
  count = 1,
): { readonly server: string; readonly load: readonly string[] } | undefined {
  const all = availableParallelism();
  if (all <= count || spawnSync('taskset', ['-V']).status !== 0) return undefined;
  const first = all - count;
  const server = Array.from({ length: count }, (_, index) => first + index);
  const load = first === 1 ? [0] : [first - 2, first - 1];
  return { server: server.join(), load: load.map(String) };
}

/** The command that runs another one on some cores. */
export function pinned(
  cores: string | undefined,
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] {
  return cores === undefined ? [command, args] : ['taskset', ['-c', cores, command, ...args]];
}
