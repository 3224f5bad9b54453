import { vi } from 'vitest';
import { importFrom } from './compiled-server.js';

interface PlacementModule {
  readonly Placement: {
    readonly prototype: { isElsewhere(now: number): boolean; ran(...told: unknown[]): void };
  };
}

/**
 * Has the server in a folder run every read in another process that it would measure at all, however short it is.
 * @returns how often that happened, so far
 */
export async function forceReaders(server: string): Promise<() => number> {
  const { Placement } = (await importFrom(server, 'runtime/inside')) as PlacementModule;
  vi.spyOn(Placement.prototype, 'isElsewhere').mockReturnValue(true);
  const ran = vi.spyOn(Placement.prototype, 'ran');
  return () => ran.mock.calls.length;
}
