import { vi } from 'vitest';
import { importFrom } from './compiled-server.js';

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
  const { StatementCost } = (await importFrom(server, 'runtime/inside')) as CostModule;
  vi.spyOn(StatementCost.prototype, 'isAway').mockReturnValue(true);
  const took = vi.spyOn(StatementCost.prototype, 'took');
  return () => took.mock.calls.length;
}
