import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { installedPostgres } from './binaries.js';
import { PostgresServer } from './server.js';

/** The answer to a test process that asks for the PostgreSQL of this run. */
export type Kept = { readonly url: string } | { readonly error: string };

/** The environment variable with the port to ask at, for test processes. */
export const keeperVariable = 'DRS_GEN_POSTGRES_KEEPER';

/**
 * Global setup of Vitest: runs one PostgreSQL for all tests. It starts when the first test asks for
 * it, and stops at the end of the run. It belongs to the process that outlives all test processes.
 */
export async function setup(): Promise<() => Promise<void>> {
  const installed = installedPostgres();
  if (installed === undefined) return () => Promise.resolve();
  let server: Promise<PostgresServer> | undefined;
  const keeper = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    server ??= PostgresServer.create(installed);
    void server
      .then(
        (created): Kept => ({ url: created.url('postgres') }),
        (error: unknown): Kept => ({ error: String(error) }),
      )
      .then((kept) => socket.end(JSON.stringify(kept)));
  });
  // A port leaves nothing behind when the run is killed, unlike a socket in a folder.
  keeper.listen(0, '127.0.0.1');
  await once(keeper, 'listening');
  keeper.unref();
  process.env[keeperVariable] = String((keeper.address() as AddressInfo).port);
  return async () => {
    keeper.close();
    await (await server?.catch(() => undefined))?.remove();
  };
}
