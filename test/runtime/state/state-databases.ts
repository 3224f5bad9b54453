import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe } from 'vitest';
import { openClient, PostgresPool } from '../../../runtime/dialect/postgres/connect.js';
import { PostgresExecutor } from '../../../runtime/dialect/postgres/executor.js';
import { PostgresState, prepareState } from '../../../runtime/dialect/postgres/state.js';
import { SqliteState } from '../../../runtime/dialect/sqlite/state.js';
import type { StateDatabase } from '../../../runtime/dialect/state-database.js';
import { stateSchema } from '../../../runtime/state/schema.js';
import { describePostgres, postgresDatabase } from '../../support/postgres.js';

/** A state that several servers have open. */
export interface SharedState {
  /** What one server has open. */
  readonly open: () => Promise<StateDatabase>;
  readonly drop: () => Promise<void>;
}

async function sqlite(): Promise<SharedState> {
  const folder = mkdtempSync(join(tmpdir(), 'drs-state-'));
  const opened: StateDatabase[] = [];
  const open = (): Promise<StateDatabase> => {
    opened.push(SqliteState.open(join(folder, 'data.sqlite-state'), stateSchema));
    return Promise.resolve(opened.at(-1) as StateDatabase);
  };
  const drop = async (): Promise<void> => {
    for (const each of opened) await each.close();
    rmSync(folder, { recursive: true });
  };
  return Promise.resolve({ open, drop });
}

async function postgres(): Promise<SharedState> {
  const database = await postgresDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const opened: PostgresExecutor[] = [];
  const open = async (): Promise<StateDatabase> => {
    const schema = await prepareState(client, 'public', stateSchema);
    const options = { url: database.url, size: 4, queryTimeout: null };
    const executor = new PostgresExecutor(new PostgresPool(options, 'public'), {
      ...options,
      uniqueColumns: new Map(),
    });
    opened.push(executor);
    return new PostgresState(executor, schema, () => openClient(database.url));
  };
  const drop = async (): Promise<void> => {
    for (const each of opened) await each.close();
    await client.end();
    await database.drop();
  };
  return { open, drop };
}

/** `describe` for the state on each kind of database. */
export function describeState(
  name: string,
  tests: (make: () => Promise<SharedState>) => void,
): void {
  describe(`${name}, on SQLite`, () => {
    tests(sqlite);
  });
  describePostgres(`${name}, on PostgreSQL`, () => {
    tests(postgres);
  });
}

const times: Readonly<Record<string, readonly string[]>> = {
  session: ['refreshed', 'expires', 'ends'],
  entityset: ['refreshed', 'expires'],
  upload: ['expires'],
};

/** Makes everything older, as if time had gone by. */
export async function age(state: StateDatabase, milliseconds: number): Promise<void> {
  for (const [table, columns] of Object.entries(times)) {
    const sets = columns.map((each) => `${each} = ${each} - ${milliseconds}`).join(', ');
    await state.run([`update drs_state.${table} set ${sets}`]);
  }
}
