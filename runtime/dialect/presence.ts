import { newUuid } from '../protocol/uuid.js';
import type { Database } from './database.js';
import { settledWithin } from './settled-within.js';
import { Slot } from './statement.js';
import { sql } from 'kysely';
import type { MigratedDatabase } from './schema/migration.js';
import { MigrationError } from './schema-mismatch.js';

/** The interval of a server's heartbeat, and how long a heartbeat is valid. */
const beatMilliseconds = 20_000;
const livingMilliseconds = 60_000;

/** How many milliseconds a stopping server waits for its record to be removed. */
const longestFarewell = 1_000;

/** Records that a server uses the database, until the returned function is called: migrations respect it. */
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
    try {
      await executor.write(work);
    } catch {
      // If the database cannot be written now, the requests that write report it.
    }
  };
  const beat = (): Promise<void> =>
    write(async (transaction) => {
      await transaction.run(note, [id, schemaHash, new Date().toISOString()]);
    });
  let lastBeat = beat();
  const timer = setInterval(() => {
    lastBeat = beat();
  }, beatMilliseconds).unref();
  return async () => {
    clearInterval(timer);
    // A heartbeat that is still running on another connection would record the server again.
    const forgotten = lastBeat.then(() =>
      write(async (transaction) => {
        await transaction.run(forget, [id, oldest()]);
      }),
    );
    // Another transaction may hold the database; the record expires after a minute anyway.
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
