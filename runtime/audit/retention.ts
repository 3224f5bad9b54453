import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../dialect/database.js';
import { Slot } from '../dialect/statement.js';
import type { DataclassDefinition } from '../protocol/definition.js';

const hour = 3_600_000;
const day = 24 * hour;

/** Entries that one transaction deletes, so that others never wait for long. */
const mostAtOnce = 1000;

/** Deletes the oldest entries of a table, as far as they were made before a time. */
const deletion = sql`delete from "__audit" where "position" in (select "position" from (
    select "position", "time" from "__audit" where "table" = ${new Slot(0)}
    order by "position" limit ${sql.lit(mostAtOnce)}) as "oldest" where "time" < ${new Slot(1)})`;

interface Retained {
  readonly table: string;
  readonly days: number;
}

/**
 * Deletes entries that are older than the model says, at once and every hour. Several servers may delete the same ones.
 * @param failed called with errors; the next hour tries again
 * @returns ends it
 */
export function startRetention(
  database: Database,
  definitions: readonly DataclassDefinition[],
  failed: (error: unknown) => void,
): () => Promise<void> {
  const retained = definitions.flatMap(({ table, audit }): Retained[] =>
    audit?.days === undefined ? [] : [{ table, days: audit.days }],
  );
  if (retained.length === 0) return () => Promise.resolve();
  const statement = database.dialect.compile(deletion);
  let isEnded = false;
  const deleteOld = async (): Promise<void> => {
    for (const { table, days } of retained) {
      const before = new Date(Date.now() - days * day).toISOString();
      let deleted = mostAtOnce;
      // Entries that were made while a clock was wrong stay among the oldest.
      while (deleted > 0 && !isEnded) {
        const { changes } = await database.executor.write((transaction) =>
          transaction.run(statement, [table, before]),
        );
        deleted = changes;
        await setImmediate();
      }
    }
  };
  let running = deleteOld().catch(failed);
  const timer = setInterval(() => {
    running = running.then(deleteOld).catch(failed);
  }, hour).unref();
  return async () => {
    isEnded = true;
    clearInterval(timer);
    await running;
  };
}
