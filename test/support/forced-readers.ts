import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';
import { readers } from './reader-program.js';

interface CostModule {
  readonly StatementCost: {
    readonly prototype: { isAway(now: number): boolean; took(...told: unknown[]): void };
  };
}

/**
 * Has the server in a folder run every read in another process that it would measure at all, however short it is.
 * @returns how often that happened, so far
 */
export async function forceReaders(server: string): Promise<() => number> {
  const runtime = join(server, 'src/runtime');
  const url = pathToFileURL(join(runtime, readers, 'statement-cost.ts')).href;
  const { StatementCost } = (await import(/* @vite-ignore */ url)) as CostModule;
  vi.spyOn(StatementCost.prototype, 'isAway').mockReturnValue(true);
  const took = vi.spyOn(StatementCost.prototype, 'took');
  return () => took.mock.calls.length;
}
