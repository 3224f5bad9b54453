import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { newUuid } from '../../protocol/uuid.js';
import { SchemaMismatchError } from '../schema-mismatch.js';
import { type CatalogEntry, catalogOf } from './catalog.js';
import { schemaDifferences } from './schema-differences.js';
import { ownTables } from './schema-statements.js';

export interface WantedSchema {
  /** The model's tables and indexes, one SQL statement each. */
  readonly statements: readonly string[];
  /** Functions that statements use; each may run again. */
  readonly functions: readonly string[];
}

/** Two servers that start at once on one database: the second one waits, and finds what the first one made. */
const lock = `select pg_advisory_xact_lock(hashtextextended('drs-gen ' || $1, 0))`;

/**
 * Creates the schema where there are no tables; compares it with what is there otherwise. No table is ever dropped or altered.
 * @param name of PostgreSQL's schema that holds the tables; the session looks names up there
 * @throws SchemaMismatchError with every difference
 */
export async function prepareSchema(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<void> {
  await client.query('begin');
  try {
    await client.query(lock, [name]);
    await prepare(client, name, wanted);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function prepare(client: ClientBase, name: string, wanted: WantedSchema): Promise<void> {
  const present = await catalogOf(client, name);
  const isEmpty = !present.some(({ kind }) => kind !== 'function');
  if (isEmpty) {
    await runAll(client, [...ownTables, ...wanted.functions, ...wanted.statements]);
    await client.query(
      `insert into "__datastore" ("name", "value", "text") values ('globalStamp', 0, null), ('uniqueID', null, $1)`,
      [newUuid()],
    );
  } else {
    const isOurs = present.some(({ table }) => table === '__datastore');
    // A database that was found to match is not compared again until its schema or the model's changes.
    if (isOurs && (await knownStamp(client)) === stampOf(wanted, present)) return;
    await compare(client, name, wanted);
    await runAll(client, wanted.functions);
  }
  await client.query(
    `insert into "__datastore" ("name", "text") values ('schema', $1)
      on conflict ("name") do update set "text" = excluded."text"`,
    [stampOf(wanted, await catalogOf(client, name))],
  );
}

/** Makes the wanted tables as temporary ones beside those that are there, and undoes that. */
async function compare(client: ClientBase, name: string, wanted: WantedSchema): Promise<void> {
  const actual = await catalogOf(client, name);
  const { rows } = await client.query<{ path: string }>(
    `select current_setting('search_path') as "path"`,
  );
  const path = rows[0]?.path ?? '';
  await client.query('savepoint "comparison"');
  await runAll(client, wanted.functions);
  await client.query(`set local search_path = pg_temp, ${path.replace(/, pg_temp$/, '')}`);
  await runAll(client, [...ownTables, ...wanted.statements]);
  const own = await client.query<{ own: string }>(
    `select nspname as "own" from pg_namespace where oid = pg_my_temp_schema()`,
  );
  const expected = await catalogOf(client, own.rows[0]?.own ?? '');
  await client.query('rollback to savepoint "comparison"');
  const differences = schemaDifferences(expected, actual);
  if (differences.length > 0) throw new SchemaMismatchError(differences);
}

async function runAll(client: ClientBase, statements: readonly string[]): Promise<void> {
  // Without values, a text may hold several statements: one round trip for all.
  await client.query(statements.map((each) => `${each};`).join('\n'));
}

/** Tells both schemas: the one that the model wants, and the one that is there. */
function stampOf(wanted: WantedSchema, present: readonly CatalogEntry[]): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([ownTables, wanted.functions, wanted.statements, present]));
  return hash.digest('hex');
}

async function knownStamp(client: ClientBase): Promise<unknown> {
  const { rows } = await client.query<{ text: string }>(
    `select "text" from "__datastore" where "name" = 'schema'`,
  );
  return rows[0]?.text;
}
