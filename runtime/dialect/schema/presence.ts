import { newUuid } from '../../protocol/uuid.js';
import type { Database } from '../database.js';
import { whenThere, settledWithin } from '../pending.js';
import { Slot } from '../statement.js';
import { sql } from 'kysely';
import { type MigratedDatabase, MigrationError } from './migration.js';

/** How often a server says that it lives, and how long it is believed. */
const beatMilliseconds = 20_000;
const livingMilliseconds = 60_000;

/** How long the end of a server waits until that is taken back, in milliseconds. */
const longestFarewell = 1_000;

/**
 * Says in the database that a server uses it, until the answer is called: what an older model needs is not taken away meanwhile.
 */
export function announceServer({ dialect, executor, schemaHash }: Database): () => Promise<void> {
  const id = newUuid();
  const slot = (index: number): ReturnType<typeof sql> => sql`${new Slot(index)}`;
  const note = dialect.compile(
    sql`insert into "__server" ("id", "hash", "seen") values (${slot(0)}, ${slot(1)}, ${slot(2)})
      on conflict ("id") do update set "seen" = excluded."seen"`,
  );
  const forget = dialect.compile(
    sql`delete from "__server" where "id" = ${slot(0)} or "seen" < ${slot(1)}`,
  );
  const write = async (work: Parameters<typeof executor.write>[0]): Promise<void> => {
    // A database that cannot be written to now is told by the requests that need it.
    await Promise.resolve(executor.write(work)).catch(() => undefined);
  };
  const beat = (): Promise<void> =>
    write((transaction) =>
      whenThere(transaction.run(note, [id, schemaHash, new Date().toISOString()]), () => undefined),
    );
  let lastBeat = beat();
  const timer = setInterval(() => {
    lastBeat = beat();
  }, beatMilliseconds).unref();
  return async () => {
    clearInterval(timer);
    // A pool has many connections: a beat that is still on its way on another one would note the server again.
    const forgotten = lastBeat.then(() =>
      write((transaction) => whenThere(transaction.run(forget, [id, oldest()]), () => undefined)),
    );
    // Another transaction may hold the database; the server is forgotten after a minute anyway.
    await settledWithin(forgotten, longestFarewell);
  };
}

/** @throws MigrationError while a server of another model uses the database */
export async function requireNoOthers(database: MigratedDatabase, hash: string): Promise<void> {
  const [row] = await database.query(
    `SELECT max("seen") AS "seen" FROM "__server" WHERE "hash" <> $1 AND "seen" > $2`,
    [hash, oldest()],
  );
  if (typeof row?.seen !== 'string') return;
  throw new MigrationError(
    `a server of another model has used the database within the last minute (${row.seen}). Stop it; if it has ended already, wait a minute.`,
  );
}

function oldest(): string {
  return new Date(Date.now() - livingMilliseconds).toISOString();
}
