import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { Fold } from '../../protocol/fold.js';
import { newUuid } from '../../protocol/uuid.js';
import { requireMatch, SchemaMismatchError } from '../schema-mismatch.js';
import { type CatalogEntry, catalogOf } from './catalog.js';
import { addMissing, additionOf } from './schema-additions.js';
import { schemaDifferences } from './schema-differences.js';
import { ownTables } from './schema-statements.js';
import { sortStatements } from './wanted-statements.js';

export interface WantedSchema {
  /** The model's tables and indexes, one SQL statement each. */
  readonly statements: readonly string[];
  /** Functions that statements use; each may run again. */
  readonly functions: readonly string[];
  /** How texts are compared. */
  readonly fold: Fold;
}

/** What a refusal of a database of this server's ends with. */
const advice =
  'Copy the database before you change it. Tables, indexes and columns that may be empty are added by the server itself; everything else is changed by hand, with the SQL above where there is some. The columns beside texts (__folded_…) are filled at the next start.';

const foreignAdvice =
  'No server has made the tables that are there, since "__datastore" is missing: nothing is added to them. DATABASE_URL may name another database, or another schema (?options=-c%20search_path%3Dshop).';

/** Two servers that start at once on one database: the second one waits, and finds what the first one made. */
const lock = `select pg_advisory_xact_lock(hashtextextended('drs-gen ' || $1, 0))`;

/**
 * Creates the schema where there are no tables; adds what is missing to those that a server has made, all or nothing. Nothing
 * is ever dropped or changed.
 * @param name of PostgreSQL's schema that holds the tables; the session looks names up there
 * @returns what was added to tables that were there, in words
 * @throws SchemaMismatchError with every difference, when there are others
 */
export async function prepareSchema(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<readonly string[]> {
  await client.query('begin');
  try {
    await client.query(lock, [name]);
    const added = await prepare(client, name, wanted);
    await client.query('commit');
    return added;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function prepare(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<readonly string[]> {
  const present = await catalogOf(client, name);
  const isEmpty = !present.some(({ kind }) => kind !== 'function');
  let added: readonly string[] = [];
  if (isEmpty) {
    await runAll(client, [...ownTables, ...wanted.functions, ...wanted.statements]);
    await client.query(
      `insert into "__datastore" ("name", "value", "text") values ('globalStamp', 0, null), ('uniqueID', null, $1)`,
      [newUuid()],
    );
  } else {
    const isOurs = present.some(({ table }) => table === '__datastore');
    // A database that was found to match is not compared again until its schema or the model's changes.
    if (isOurs && (await knownStamp(client)) === stampOf(wanted, present)) return [];
    added = await adapt(client, name, wanted, present);
  }
  await client.query(
    `insert into "__datastore" ("name", "text") values ('schema', $1)
      on conflict ("name") do update set "text" = excluded."text"`,
    [stampOf(wanted, await catalogOf(client, name))],
  );
  return added;
}

/**
 * @returns what was added
 * @throws SchemaMismatchError with every difference, when something cannot be added
 */
async function adapt(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
  present: readonly CatalogEntry[],
): Promise<readonly string[]> {
  const expected = await expectedCatalog(client, wanted);
  const statements = sortStatements([...ownTables, ...wanted.statements]);
  const differences = schemaDifferences(expected, present);
  if (!present.some(({ table }) => table === '__datastore')) {
    throw new SchemaMismatchError({
      differences: differences.map((each) => {
        const remedy =
          'kind' in each && !each.table.startsWith('__') ? additionOf(each, statements) : undefined;
        return remedy === undefined ? { what: each.what } : { what: each.what, remedy };
      }),
      advice: foreignAdvice,
    });
  }
  await runAll(client, wanted.functions);
  const growing = { client, name, expected, statements, fold: wanted.fold };
  const { added, refused } = await addMissing(growing);
  const after = schemaDifferences(expected, await catalogOf(client, name));
  requireMatch({ before: differences, after, refused }, advice);
  return added;
}

/** Makes the wanted tables as temporary ones beside those that are there, and undoes that. */
async function expectedCatalog(client: ClientBase, wanted: WantedSchema): Promise<CatalogEntry[]> {
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
  return expected;
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
