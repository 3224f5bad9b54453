import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { DataclassDefinition } from '../../runtime/protocol/definition.js';
import type { AppOptions } from '../../runtime/http/create-server.js';
import type { Settings } from '../../runtime/http/settings.js';
import { importFrom } from './compiled-server.js';
import { servedDatabase } from './served-database.js';
import { modelOf, packageRoot, writeServer } from './server.js';
import { sourceServer } from './source-server.js';
import { type DataStore, staffClasses } from './staff-classes.js';

/**
 * The place of a database: in a file only the writing connection sees a transaction; in memory
 * there is only one connection.
 */
export type Place = 'file' | 'memory';

export const places: readonly Place[] = ['file', 'memory'];

export interface StaffServer {
  readonly app: FastifyInstance;
  readonly ds: DataStore;
  readonly close: () => Promise<void>;
}

/** Starts the server of `people.yaml` with the classes of these tests, on an empty database. */
export async function staffServer(place: Place, options: AppOptions = {}): Promise<StaffServer> {
  const folder = writeServer(
    modelOf(readFileSync(join(packageRoot, 'test/support/models/people.yaml'), 'utf8')),
  );
  const load = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
    (await importFrom(folder, `src/generated/${name}`)) as Readonly<Record<string, unknown>>;
  const { definitions } = await load('definitions');
  const { settings } = await load('settings');
  const data = mkdtempSync(join(tmpdir(), 'drs-class-'));
  const url = place === 'memory' ? 'sqlite::memory:' : `sqlite:${join(data, 'data.sqlite')}`;
  const { databases, databaseUrl, environment, drop } = await servedDatabase(load, url);
  const app = await sourceServer(
    {
      definitions: definitions as readonly DataclassDefinition[],
      databases,
      settings: settings as Settings,
      classes: staffClasses,
    },
    { databaseUrl, logger: false, environment, ...options },
    load,
    ['Company', 'Employee'],
  );
  const close = async (): Promise<void> => {
    await app.close();
    await drop();
    rmSync(data, { recursive: true, force: true });
  };
  return { app, ds: app.datastore as DataStore, close };
}
