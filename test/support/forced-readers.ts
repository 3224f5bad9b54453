import { vi } from 'vitest';
import { importFrom } from './compiled-server.js';

interface PlacementModule {
  readonly Placement: {
    readonly prototype: { isOffloaded(now: number): boolean; record(...given: unknown[]): void };
  };
}

/**
 * Makes the server in a folder offload every read whose time it measures, however short it is.
 * @returns how many reads were offloaded so far
 */
export async function forceReaders(server: string): Promise<() => number> {
  const { Placement } = (await importFrom(server, 'runtime/inside')) as PlacementModule;
  vi.spyOn(Placement.prototype, 'isOffloaded').mockReturnValue(true);
  const record = vi.spyOn(Placement.prototype, 'record');
  return () => record.mock.calls.length;
}
