import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'better-sqlite3';
import type { Fold } from '../../../protocol/fold.js';
import type { CopyOptions, DatabaseCopy } from '../../driver.js';
import { registerFunctions } from '../functions.js';
import { databaseFile } from '../open.js';
import { freeBytes } from './rebuild.js';

/** Suffixes of the files that SQLite and servers create next to a database. */
const besides = ['-wal', '-shm', '-journal', '-state'];

/** How long the copy waits for another process that locks the database. */
const busyTimeoutMilliseconds = 30_000;

/** Copies a snapshot to a new file, while servers may write. */
export function copyDatabase(
  url: string,
  target: string,
  { fold, log }: CopyOptions,
): Promise<DatabaseCopy> {
  const source = databaseFile(url);
  if (source === ':memory:') {
    throw new Error('--try copies a database in a file, and DATABASE_URL names one in memory.');
  }
  const found = statSync(source, { throwIfNoEntry: false });
  if (found?.isFile() !== true) {
    throw new Error(`There is no database ${source}, which DATABASE_URL names.`);
  }
  requireNew(target, found.mode & 0o777);
  try {
    const start = performance.now();
    vacuumInto(source, target, fold);
    forgetServers(target);
    const { size } = statSync(target);
    const seconds = ((performance.now() - start) / 1000).toFixed(3);
    log(`${source} is copied to ${target}: ${(size / 1e6).toFixed(1)} MB, ${seconds} s.`);
  } catch (error) {
    for (const suffix of ['', ...besides]) rmSync(target + suffix, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${source} cannot be copied to ${target}: ${reason}`, { cause: error });
  }
  const copy = `sqlite:${resolve(target)}`;
  return Promise.resolve({
    url: copy,
    words: [
      `The copy stays: DATABASE_URL=${copy} starts a server on it.`,
      `Delete the file when you no longer need it, and those beside it whose names begin with its name.`,
    ],
  });
}

/** Creates the empty file exclusively, with the permissions of the database. */
function requireNew(target: string, mode: number): void {
  if (/^(?:sqlite|postgres(?:ql)?):/.test(target) || target === '') {
    throw new Error(`--try takes the path of a new file, and no ${JSON.stringify(target)}.`);
  }
  const there = [target, ...besides.map((suffix) => target + suffix)].find((each) =>
    existsSync(each),
  );
  if (there !== undefined) {
    throw new Error(`${there} exists already; --try takes the path of a new file.`);
  }
  try {
    closeSync(openSync(target, 'wx', mode));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`--try cannot make the file ${target}: ${reason}`, { cause: error });
  }
}

/** Only reads. A read-only connection would leave files that a server of another user cannot write. */
function vacuumInto(source: string, target: string, fold: Fold): void {
  const database = new Database(source, { fileMustExist: true, timeout: busyTimeoutMilliseconds });
  try {
    registerFunctions(database, fold);
    const pages = Number(database.pragma('page_count', { simple: true }));
    const needed = pages * Number(database.pragma('page_size', { simple: true }));
    const free = freeBytes(target);
    if (needed > free) {
      const [has, wants] = [free, needed].map((each) => `${Math.ceil(each / 1e6)} MB`);
      throw new Error(`it needs up to ${wants ?? ''}, and ${has ?? ''} are free there`);
    }
    database.prepare('VACUUM INTO ?').run(target);
  } finally {
    database.close();
  }
}

/** No server uses the copy. */
function forgetServers(target: string): void {
  const copy = new Database(target);
  try {
    const table = copy.prepare(`select 1 from sqlite_schema where name = '__server'`).get();
    if (table !== undefined) copy.exec('DELETE FROM "__server"');
  } finally {
    copy.close();
  }
}
