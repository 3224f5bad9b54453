import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { dataVersion, fillDatabase, fillPostgres } from './data/fill.js';
import type { DatabaseKind } from './options.js';
import { BenchPostgres, runOn } from './postgres.js';
import { work } from './places.js';
import { Server } from './server.js';

/** Filled databases of one kind. */
export interface Databases {
  readonly kind: DatabaseKind;
  /**
   * A database with the schema that a generated server makes, filled with so many employees. Nobody may write to it: `copy`
   * gives one of your own.
   */
  readonly filled: (script: string, rows: number) => Promise<string>;
  /** A copy to be written to, which is gone when this process ends or asks for the same name again. */
  readonly copy: (filled: string, name: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** SQLite's files, or a PostgreSQL that is started. */
export async function openDatabases(kind: DatabaseKind): Promise<Databases> {
  return kind === 'sqlite' ? sqliteDatabases : postgresDatabases(await BenchPostgres.start());
}

export const sqliteDatabases: Databases = {
  kind: 'sqlite',
  filled: filledDatabase,
  copy: (filled, name) => Promise.resolve(copyDatabase(filled, name)),
  close: () => Promise.resolve(),
};

export function postgresDatabases(postgres: BenchPostgres): Databases {
  return {
    kind: 'postgres',
    filled: async (script, rows) => {
      const own = createHash('sha256').update(script).digest('hex').slice(0, 8);
      const filled = await postgres.create(`filled_${rows}_${own}`);
      const server = await Server.start({ name: 'fresh', script, database: filled });
      await server.stop();
      await fillPostgres(filled, rows);
      return filled;
    },
    copy: async (filled, name) => {
      const copy = await postgres.create(`copy_${name}`, filled);
      // The triggers tell servers of changes by others: those written by hand know of none.
      if (name.startsWith('postgres')) {
        await runOn(copy, [
          'drop trigger "__touch" on "Company"',
          'drop trigger "__touch" on "Employee"',
        ]);
      }
      return copy;
    },
    close: () => postgres.remove(),
  };
}

/** The employees of a filled database below a score. */
export async function employeesBelow(filled: string, score: number): Promise<readonly number[]> {
  const text = `select "ID" from "Employee" where "score" < ${score} order by "ID"`;
  if (filled.includes('://')) {
    const client = new Client({ connectionString: filled });
    await client.connect();
    const { rows } = await client.query<{ ID: string }>(text);
    await client.end();
    return rows.map(({ ID }) => Number(ID));
  }
  const database = new Database(filled, { readonly: true });
  const found = database.prepare<[], number>(text).pluck().all();
  database.close();
  return found;
}

const folder = join(work, 'data');
const copies = new Set<string>();
process.once('exit', () => {
  for (const copy of copies) removeDatabase(copy);
});

/**
 * A database with the schema of a generated server and that many employees. It is kept between
 * runs, and created again when the schema or the data have changed. Do not write to it;
 * {@link copyDatabase} returns a copy.
 */
export async function filledDatabase(script: string, rows: number): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const fresh = join(folder, `fresh-${process.pid}.sqlite`);
  removeDatabase(fresh);
  const server = await Server.start({ name: 'fresh', script, database: fresh });
  await server.stop();
  const filled = join(folder, `filled-${rows}-${schemaHash(fresh)}.sqlite`);
  if (existsSync(filled)) {
    removeDatabase(fresh);
    return filled;
  }
  fillDatabase(fresh, rows);
  renameSync(fresh, filled);
  return filled;
}

/**
 * A copy for writing, for one user. It is removed when this process ends or requests the same name
 * again.
 */
export function copyDatabase(filled: string, name: string): string {
  const copy = join(folder, `${name}-${process.pid}.sqlite`);
  removeDatabase(copy);
  copyFileSync(filled, copy);
  copies.add(copy);
  return copy;
}

export function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

function schemaHash(file: string): string {
  const database = new Database(file, { readonly: true });
  const statements = database
    .prepare<[], string>('select sql from sqlite_master where sql is not null order by name')
    .pluck()
    .all();
  database.close();
  return createHash('sha256')
    .update([dataVersion, ...statements].join('\n'))
    .digest('hex')
    .slice(0, 8);
}
