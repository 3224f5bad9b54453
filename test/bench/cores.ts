import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * The cores for the server and for the load, so that neither slows the other; `undefined` if the
 * system cannot bind processes to cores.
 * @param count number of cores for the server
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

/** The command that runs another command on certain cores. */
export function pinned(
  cores: string | undefined,
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] {
  return cores === undefined ? [command, args] : ['taskset', ['-c', cores, command, ...args]];
}
