import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { dataVersion, fillDatabase } from './data/fill.js';
import { work } from './places.js';
import { Server } from './server.js';

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
