/**
 * Writes to the table of `migrations.ts` until its parent ends: like a server, one transaction for
 * each change of one row, and a new row with every tenth. Reports on demand the longest wait and
 * the number of changes.
 *
 *   node migrations-writer.js <DATABASE_URL> <rows>
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Client } from 'pg';

const [url = '', rows = ''] = process.argv.slice(2);
const pauseMilliseconds = 5;
const state = { longest: 0, writes: 0, isAsked: false };

process.on('message', (message) => {
  if (message === 'begin') Object.assign(state, { longest: 0, writes: 0 });
  else state.isAsked = true;
});
process.on('disconnect', () => process.exit());

const write = url.startsWith('sqlite:') ? sqliteWriter() : await postgresWriter();
process.send?.('ready');
for (let count = 0; ; count += 1) {
  const start = performance.now();
  await write(1 + Math.floor(Math.random() * Number(rows)), count);
  state.longest = Math.max(state.longest, performance.now() - start);
  state.writes += 1;
  // A change that waits at the end of a step counts for that step.
  if (state.isAsked) process.send?.({ longest: state.longest, writes: state.writes });
  state.isAsked = false;
  await sleep(pauseMilliseconds);
}

type Write = (key: number, count: number) => Promise<void>;

function statements(key: number, count: number): readonly string[] {
  const insert = `insert into "Person" ("name", "role", "city", "code", "amount", "__STAMP", "__TIMESTAMP")
    values ('New', 'a', 'Bern', 'new ${process.pid} ${count}', 1, 1, '2026-01-01T00:00:00.000Z')`;
  return [
    `update "Person" set "amount" = "amount" + 1, "__STAMP" = "__STAMP" + 1 where "ID" = ${key}`,
    ...(count % 10 === 0 ? [insert] : []),
    `update "__datastore" set "value" = "value" + 1 where "name" = 'globalStamp'`,
  ];
}

/** Waits for its turn as a server does. */
function sqliteWriter(): Write {
  const database = new Database(url.slice('sqlite:'.length), { timeout: 0 });
  return async (key, count) => {
    for (let pause = 1; !isBegun(database); pause = Math.min(pause * 2, 4)) await sleep(pause);
    for (const each of statements(key, count)) database.exec(each);
    database.exec('commit');
  };
}

function isBegun(database: Database.Database): boolean {
  try {
    database.exec('begin immediate');
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}

async function postgresWriter(): Promise<Write> {
  const client = new Client({ connectionString: url, application_name: 'writer' });
  await client.connect();
  return async (key, count) => {
    await client.query(['begin', ...statements(key, count), 'commit'].join(';'));
  };
}
