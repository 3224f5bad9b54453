import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Model } from '../../generator/model/model.js';
import { writeServer } from './server.js';

interface Holder {
  readonly name: string;
}

interface TriedServer {
  readonly unseeded: readonly string[];
  deviations(holder: Holder): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface StartTriedServer {
  readonly start: (
    server: object,
    table: {
      readonly access: unknown;
      readonly holders: readonly Holder[];
      readonly requests: number;
    },
  ) => Promise<TriedServer>;
}

/** What the access test of a server found. */
export interface AccessTrial {
  /** By the names of those who were tried. */
  readonly deviations: Readonly<Record<string, readonly string[]>>;
  readonly unseeded: readonly string[];
}

/**
 * Does what the emitted `test/access.test.ts` of a model's server does, in this process.
 * @param written see {@link writeServer}
 * @param requests how many of them go through attributes
 */
export async function accessTrial(
  model: Model,
  written: Readonly<Record<string, string>> = {},
  requests = 30_000,
): Promise<AccessTrial> {
  const folder = writeServer(model, written);
  const load = async (path: string): Promise<object> =>
    (await import(/* @vite-ignore */ pathToFileURL(join(folder, path)).href)) as object;
  const server = {
    ...(await load('src/generated/app.ts')),
    ...(await load('src/generated/definitions.ts')),
    ...(await load('src/generated/settings.ts')),
  };
  const { access, holders } = (await load('test/access/table.ts')) as {
    readonly access: unknown;
    readonly holders: readonly Holder[];
  };
  const { TriedServer } = (await load('test/access/tried-server.ts')) as {
    readonly TriedServer: StartTriedServer;
  };
  const tried = await TriedServer.start(server, { access, holders, requests });
  try {
    const deviations: Record<string, readonly string[]> = {};
    for (const holder of holders) deviations[holder.name] = await tried.deviations(holder);
    return { deviations, unseeded: tried.unseeded };
  } finally {
    await tried.stop();
  }
}
