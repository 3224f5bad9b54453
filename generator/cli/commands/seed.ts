import { dirname, join, resolve } from 'node:path';
import { exitCode } from '../exit-code.js';
import { UsageError } from '../failure.js';
import type { Session } from '../session.js';
import { shellWord } from '../shell-word.js';

export interface SeedOptions {
  readonly upsertBy: readonly string[];
  readonly partial?: boolean;
  readonly dryRun?: boolean;
}

/** The module of a server that stores the entities. */
const seedModule = 'src/generated/seed.ts';

/** `drs-gen seed <server> <files>`: stores the entities of data files with the server's own code. */
export async function seed(
  { world }: Session,
  server: string,
  files: readonly string[],
  { upsertBy, partial, dryRun }: SeedOptions,
): Promise<number> {
  const folder = resolve(world.cwd, server);
  if (!world.isFile(join(folder, seedModule))) {
    throw new UsageError(
      world.isFile(join(folder, 'package.json'))
        ? `${server} has no ${seedModule}: generate the server again with this drs-gen.`
        : `${server} is not the folder of a server.`,
    );
  }
  if (!hasTsx(folder)) {
    const install = `cd ${shellWord(server)} && npm install`;
    throw new UsageError(`The packages of the server are not installed: ${install}`);
  }
  const args = [
    ...['--import', 'tsx', seedModule],
    ...upsertBy.map((each) => `--upsert-by=${each}`),
    ...(partial === true ? ['--partial'] : []),
    ...(dryRun === true ? ['--dry-run'] : []),
    '--',
    ...files.map((each) => resolve(world.cwd, each)),
  ];
  const running = world.start({ command: 'node', args, folder });
  const signals: ('SIGINT' | 'SIGTERM')[] = [];
  const release = world.onInterrupt((name) => {
    signals.push(name);
    running.stop();
  });
  const code = await running.ended;
  release();
  const [signal] = signals;
  if (signal !== undefined) return exitCode.interrupted[signal];
  return code ?? exitCode.failed;

  /** Workspaces have their packages in a folder above. */
  function hasTsx(from: string): boolean {
    if (world.isFile(join(from, 'node_modules/tsx/package.json'))) return true;
    return dirname(from) !== from && hasTsx(dirname(from));
  }
}
