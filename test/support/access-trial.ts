import type { Model } from '../../generator/model/model.js';
import { importFrom } from './compiled-server.js';
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

/** The results of a server's access test. */
export interface AccessTrial {
  /** By the name of the tested role or privilege. */
  readonly deviations: Readonly<Record<string, readonly string[]>>;
  readonly unseeded: readonly string[];
}

/**
 * Does what the emitted `test/access.test.ts` of a model's server does, in this process.
 * @param options.written see {@link writeServer}, as `runtimeFolder` is
 * @param options.requests how many of them go through attributes
 * @param options.isFirstEnough whether it ends with the first role or privilege that deviates
 */
export async function accessTrial(
  model: Model,
  options: {
    readonly written?: Readonly<Record<string, string>>;
    readonly runtimeFolder?: string | undefined;
    readonly requests?: number;
    readonly isFirstEnough?: boolean;
  } = {},
): Promise<AccessTrial> {
  const { written, runtimeFolder, requests = 30_000, isFirstEnough = false } = options;
  const folder = writeServer(model, written, runtimeFolder);
  const server = {
    ...(await importFrom(folder, 'src/generated/app')),
    ...(await importFrom(folder, 'src/generated/definitions')),
    ...(await importFrom(folder, 'src/generated/settings')),
  };
  const { access, holders } = (await importFrom(folder, 'test/access/table')) as {
    readonly access: unknown;
    readonly holders: readonly Holder[];
  };
  const { TriedServer } = (await importFrom(folder, 'test/access/tried-server')) as {
    readonly TriedServer: StartTriedServer;
  };
  const tried = await TriedServer.start(server, { access, holders, requests });
  try {
    const deviations: Record<string, readonly string[]> = {};
    for (const holder of holders) {
      const own = await tried.deviations(holder);
      deviations[holder.name] = own;
      if (isFirstEnough && own.length > 0) break;
    }
    return { deviations, unseeded: tried.unseeded };
  } finally {
    await tried.stop();
  }
}
