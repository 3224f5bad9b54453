import { join } from 'node:path';
import { Client } from 'pg';
import { tsImport } from 'tsx/esm/api';
import { root } from './places.js';

/** A PostgreSQL that ends with this process. */
interface StartedPostgres {
  readonly url: (database: string) => string;
  readonly remove: () => Promise<void>;
}

/**
 * Starts PostgreSQL as the tests do; their code is not compiled with the bench.
 * @param settings beside those of the tests
 */
export async function startPostgres(settings: readonly string[] = []): Promise<StartedPostgres> {
  const load = async (file: string): Promise<unknown> =>
    tsImport(join(root, 'test/support/postgres', file), import.meta.url);
  const { installedPostgres } = (await load('binaries.ts')) as {
    readonly installedPostgres: () => string | undefined;
  };
  const installed = installedPostgres();
  if (installed === undefined) {
    throw new Error('npm has no PostgreSQL for this platform; set POSTGRES_TEST_URL.');
  }
  const { PostgresServer } = (await load('server.ts')) as {
    readonly PostgresServer: {
      readonly create: (
        installed: string,
        mostConnections: number,
        settings: readonly string[],
      ) => Promise<StartedPostgres>;
    };
  };
  return PostgresServer.create(installed, 300, settings);
}

/**
 * Commits are durable, and a million employees fit into the buffers; all else is as PostgreSQL is installed. The data are in
 * memory, so that no disk is measured.
 */
const ordinary = [
  'fsync=on',
  'full_page_writes=on',
  'shared_buffers=1GB',
  'max_wal_size=4GB',
  'commit_delay=0',
];

/** The PostgreSQL of a run: one of its own, or that of `POSTGRES_TEST_URL`. */
export class BenchPostgres {
  private constructor(
    private readonly server: Pick<StartedPostgres, 'url'> & Partial<StartedPostgres>,
  ) {}

  /** @param settings beside the ordinary ones */
  static async start(settings: readonly string[] = []): Promise<BenchPostgres> {
    const given = process.env['POSTGRES_TEST_URL'];
    if (given === undefined)
      return new BenchPostgres(await startPostgres([...ordinary, ...settings]));
    if (settings.length > 0) {
      throw new Error(`Unset POSTGRES_TEST_URL: this needs a PostgreSQL with ${settings.join()}.`);
    }
    const url = (database: string): string => {
      const own = new URL(given);
      if (database !== 'postgres') own.pathname = `/${database}`;
      return own.href;
    };
    return new BenchPostgres({ url });
  }

  /**
   * Makes a database, instead of one that has the name already.
   * @param template the URL of what it is a copy of
   */
  async create(name: string, template?: string): Promise<string> {
    const own = `drs_gen_bench_${name}`;
    const from = template === undefined ? 'template0' : new URL(template).pathname.slice(1);
    await runOn(this.server.url('postgres'), [
      `drop database if exists "${own}" with (force)`,
      `create database "${own}" template "${from}" strategy file_copy`,
    ]);
    return this.server.url(own);
  }

  async remove(): Promise<void> {
    await this.server.remove?.();
  }
}

/** Runs statements one after the other, each in a transaction of its own. */
export async function runOn(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const each of statements) await client.query(each);
  } finally {
    await client.end();
  }
}
