import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, DatabaseError } from 'pg';
import { newUuid } from '../../../protocol/uuid.js';
import { schemaChanges } from '../../schema/changes.js';
import { decide, missingIn, neededByNewer, type Outcome, targetOf } from '../../schema/rules.js';
import { migrateData, noteData, planData } from '../../schema/migrate-data.js';
import {
  type JournalEntry,
  newerThan,
  notReported,
  refuse,
  auditWords,
  wordsOf,
  requireAsItIs,
  requireUsable,
  foreignDatabase,
  readJournal,
  journalQuery,
  type Additions,
} from '../../schema/start.js';
import type { Trial } from '../../schema/trial.js';
import { quoted } from '../../table-definition.js';
import {
  type CatalogTable,
  type SchemaCatalog,
  readCatalog,
  readFunctions,
  validOf,
} from '../catalog.js';
import { fillFoldedColumns, foldOf, vectorsWithoutNorm } from './derived-columns.js';
import {
  defaultLockWait,
  heldLocks,
  type TableLock,
  type LockWait,
  lockWords,
  oneAtATime,
  whenUnlocked,
} from './lock-wait.js';
import { MigratedSchema } from './migrated-schema.js';
import {
  auditChanges,
  columnDefinition,
  newTable,
  schemaSteps,
  type SchemaStep,
  untouchedTables,
  wantedOf,
} from './schema-steps.js';
import { hashOf, isStamped, ownTables, stampOf, versionOf, type WantedSchema } from '../schema.js';
import { createTouchTrigger, touchFunction, touchTrigger } from '../table-versions.js';
import { type SchemaMismatchError, SchemaPendingError } from '../../schema-mismatch.js';
import { type StartOptions, usualMigration, waitMilliseconds } from '../../schema-version.js';

export { copySchema, requirePlainName } from './copy.js';

const foreignHint = ' Its URL may also name another schema: ?options=-c%20search_path%3Dshop.';

/** A change may require others, such as indexes of a column that is created again; these get a round of their own. */
const mostRounds = 3;

const insufficientPrivilege = '42501';

const functionName = /^create or replace function "?(\w+)/i;

/** Names of the constraints that starts have made; undefined if no start has noted them yet. */
type MadeConstraints = ReadonlySet<string> | undefined;

/** SQLSTATE classes of errors that data or schema explain: integrity, and invalid definitions. */
const explained = /^(?:23|42|0A|22|2B|54)/;

/**
 * Creates the schema, or migrates an existing one to the model if no row is lost or becomes invalid. Decides all
 * changes before it makes the first one. Each change is a transaction of its own, so that a start can be
 * interrupted and the next one continues.
 * @param name of PostgreSQL's schema that holds the tables; the session resolves names there
 * @returns what changed in an existing schema and what is unused, in words
 * @throws SchemaMismatchError with every difference if one is refused
 */
export async function prepareSchema(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<readonly string[]> {
  const start = new PostgresSchemaStart(client, name, wanted);
  for (;;) {
    try {
      return await oneAtATime(client, name, start.tell, () => start.prepare());
    } catch (error) {
      if (!(error instanceof SchemaPendingError)) throw error;
      start.tell(error.message);
    }
    await sleep(waitMilliseconds);
  }
}

/** Brings the data and then the schema of a database to the model, which creates the schema in an empty one. */
export async function adaptDatabase(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<readonly string[]> {
  const { data, log, migration = usualMigration } = wanted;
  if (data === undefined) return prepareSchema(client, name, wanted);
  const database = migrated(client, name, wanted);
  const start = { ...data, log, migration, hash: hashOf(wanted) };
  const wasThere = await migrateData(database, start);
  const added = await prepareSchema(client, name, wanted);
  await noteData(database, wasThere, data);
  return added;
}

/** Describes what migrations would do to the data; changes nothing. */
export function planMigrations(
  client: ClientBase,
  name: string,
  wanted: WantedSchema & { readonly data: NonNullable<WantedSchema['data']> },
): Promise<readonly string[]> {
  const { data } = wanted;
  return planData(migrated(client, name, wanted), data, data.fold);
}

function migrated(client: ClientBase, name: string, wanted: WantedSchema): MigratedSchema {
  const { lockWait = defaultLockWait, log } = wanted;
  return new MigratedSchema({
    client,
    name,
    wanted: () => wantedCatalog(client, name, wanted),
    lockWait,
    log,
    trial: wanted.data?.trial,
  });
}

/** The schema that the model wants, in the form of PostgreSQL's catalog. */
export function wantedCatalog(
  client: ClientBase,
  name: string,
  wanted: WantedSchema,
): Promise<SchemaCatalog> {
  return new PostgresSchemaStart(client, name, wanted).wantedCatalog();
}

class PostgresSchemaStart {
  readonly #statements: readonly string[];
  readonly #functions: readonly string[];
  readonly #hash: string;
  readonly #lockWait: LockWait;
  readonly #migration: StartOptions;
  /** The last message logged while this start waits. */
  #reported = '';

  constructor(
    private readonly client: ClientBase,
    private readonly name: string,
    private readonly wanted: WantedSchema,
  ) {
    const isFunction = (each: string): boolean => /^create or replace function /i.test(each);
    const statements = wanted.statements.filter((each) => !isFunction(each));
    this.#statements = [...ownTables, ...statements];
    this.#functions = [...wanted.functions, touchFunction, ...wanted.statements.filter(isFunction)];
    this.#lockWait = wanted.lockWait ?? defaultLockWait;
    this.#migration = wanted.migration ?? usualMigration;
    this.#hash = versionOf(wanted);
  }

  wantedCatalog(): Promise<SchemaCatalog> {
    return this.#undone(() => this.#expected());
  }

  /** @throws SchemaPendingError if another server has to change the schema first */
  async prepare(): Promise<readonly string[]> {
    const actual = await readCatalog(this.client, this.name);
    const has = (table: string): boolean => actual.tables.some(({ name }) => name === table);
    if (await isStamped(this.client, this.wanted, actual)) return [];
    const journal = has('__schema') ? await this.#journal() : [];
    if (this.#migration.mode !== 'auto') return this.#takeAsItIs(actual, journal);
    if (actual.tables.length === 0) return this.#create();
    const newer = newerThan(this.#hash, journal);
    const made = has('__datastore') ? await this.#made() : undefined;
    const { expected, outcomes } = await this.#undone(async () => {
      const shape = await this.#expected();
      if (!has('__datastore')) throw this.#foreignDatabase(actual, shape);
      if (newer !== undefined) this.#requireUsable(actual, shape, newer);
      const isOlder = newer !== undefined;
      return {
        expected: shape,
        outcomes: isOlder ? [] : await this.#outcomes(ofServer(actual, shape, made), shape),
      };
    });
    // An older server changes nothing.
    if (newer !== undefined) return [];
    refuse(outcomes);
    const filled = await this.#adapt(actual, expected, made);
    const done = [
      ...wordsOf('apply', outcomes),
      ...filled,
      ...auditChanges(actual, expected).map(({ table, isWanted }) => auditWords(table, isWanted)),
    ];
    const unused = wordsOf('keep', outcomes);
    const isNew = done.length > 0 || journal.at(-1)?.hash !== this.#hash;
    await this.#remember(isNew ? [...done, ...unused] : undefined, (present) =>
      ofServer(present, expected, made),
    );
    return [...done, ...notReported(unused, journal)];
  }

  /** A server that must not change the schema accepts a compatible one. */
  async #takeAsItIs(
    actual: SchemaCatalog,
    journal: readonly JournalEntry[],
  ): Promise<readonly string[]> {
    requireAsItIs(
      await this.#missing(actual),
      this.#migration,
      journal.some(({ hash }) => hash === this.#hash),
    );
    return [];
  }

  async #missing(actual: SchemaCatalog): Promise<readonly string[]> {
    const parts = async (): Promise<readonly string[]> => {
      const expected = await this.#expected();
      return [...missingParts(actual, expected), ...notRecorded(actual, expected)];
    };
    try {
      return await this.#undone(async () => {
        const functions = await readFunctions(this.client, this.name);
        return [...(await parts()), ...missingFunctions(actual.functions, functions)];
      });
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== insufficientPrivilege) throw error;
    }
    // Only their owner may create the functions again: what there is has to do.
    const present = new Set(actual.functions.map((each) => each.split(' ', 1)[0]));
    const missing = this.#functions
      .map((each) => functionName.exec(each)?.[1] ?? '')
      .filter((name) => !present.has(name))
      .map((name) => `function ${name} is missing`);
    return missing.length > 0 ? missing : this.#undone(parts, []);
  }

  /** @throws SchemaMismatchError if a newer server removed something that this one needs */
  #requireUsable(actual: SchemaCatalog, expected: SchemaCatalog, newer: JournalEntry): void {
    const missing = missingParts(actual, expected);
    for (const each of requireUsable(missing, newer, neededByNewer(actual, expected))) {
      this.wanted.log?.(each);
    }
  }

  /** Logs once what the start waits for. */
  readonly tell = (words: string): void => {
    if (words === this.#reported) return;
    this.#reported = words;
    this.wanted.log?.(words);
  };

  /** One transaction and one round trip. */
  async #create(): Promise<readonly string[]> {
    const { statements } = this.wanted;
    await this.client.query('begin');
    try {
      const { tables } = wantedOf({ tables: [], functions: [] }, statements);
      const touching = [...tables.keys()].filter((each) => !each.startsWith('__'));
      await this.#runAll([
        ...this.#functions,
        ...this.#statements,
        ...touching.map(createTouchTrigger),
      ]);
      await this.client.query(
        `insert into "__datastore" ("name", "value", "text") values ('globalStamp', 0, null), ('uniqueID', null, $1)`,
        [newUuid()],
      );
      await this.#remember(['the schema is created'], (present) => present);
      await this.client.query('commit');
    } catch (error) {
      await this.client.query('rollback');
      throw error;
    }
    return [];
  }

  /** Runs work with the functions of this server, which may differ from the present ones, and rolls back. */
  async #undone<T>(work: () => Promise<T>, functions = this.#functions): Promise<T> {
    await this.client.query('begin');
    try {
      await this.#runAll(functions);
      return await work();
    } finally {
      await this.client.query('rollback');
    }
  }

  /** Decides all changes before the first one is made. */
  async #outcomes(actual: SchemaCatalog, expected: SchemaCatalog): Promise<readonly Outcome[]> {
    const decisions = decide(actual, expected, {
      keep: this.#migration.keep,
      derived: (column, source) => {
        const fold = foldOf(column);
        return fold === undefined ? source : `${fold.functionName}(${source})`;
      },
    });
    const outcomes: Outcome[] = [];
    const trial = this.wanted.data?.trial;
    trial?.begin();
    for (const { count, outcome } of decisions) outcomes.push(outcome(await this.#count(count)));
    if (decisions.length > 0) trial?.done('count the rows that changes of the schema concern');
    const vectors = await vectorsWithoutNorm(this.client, actual, expected);
    return [
      ...outcomes,
      ...vectors.map(({ table, source, column }): Outcome => ({
        kind: 'refuse',
        what: `table "${table.name}": column "${column}" is empty where "${source}" is not`,
        remedy: `Save the vectors of "${source}" by the server, which computes "${column}".`,
      })),
    ];
  }

  async #count(sql: string | undefined): Promise<number> {
    if (sql === undefined) return 0;
    const { rows } = await this.client.query<[string]>({ text: sql, rowMode: 'array' });
    return Number(rows[0]?.[0] ?? 0);
  }

  /** Creates the wanted tables as temporary ones, reads them, and rolls back. */
  async #expected(): Promise<SchemaCatalog> {
    const { client } = this;
    const { rows } = await client.query<{ path: string }>(
      `select current_setting('search_path') as "path"`,
    );
    const path = rows[0]?.path ?? '';
    await client.query('savepoint "comparison"');
    await client.query(`set local search_path = pg_temp, ${path.replace(/, pg_temp$/, '')}`);
    await this.#runAll(this.#statements);
    const own = await client.query<{ own: string }>(
      `select nspname as "own" from pg_namespace where oid = pg_my_temp_schema()`,
    );
    const expected = await readCatalog(client, own.rows[0]?.own ?? '');
    await client.query('rollback to savepoint "comparison"');
    return expected;
  }

  /** Changes the schema until it matches; returns what was filled, in words. */
  async #adapt(
    before: SchemaCatalog,
    expected: SchemaCatalog,
    made: MadeConstraints,
  ): Promise<readonly string[]> {
    await this.#runAll(this.#functions);
    const wanted = wantedOf(expected, this.#statements);
    const filled: string[] = [];
    let actual = ofServer(before, expected, made);
    for (let round = 1; ; round += 1) {
      const changes = schemaChanges(actual, targetOf(actual, expected));
      const steps = schemaSteps(changes, actual, wanted);
      const isDone = steps.before.length + steps.after.length === 0;
      if (round > 1 && isDone) return filled;
      if (round > mostRounds) {
        const kinds = changes.map(({ kind, table }) => `${kind} "${table}"`).join(', ');
        throw new Error(`PostgreSQL reports a different schema after each migration: ${kinds}`);
      }
      for (const step of steps.before) await this.#take(step);
      const filling = {
        client: this.client,
        lockWait: this.#lockWait,
        log: this.wanted.log,
        trial: this.wanted.data?.trial,
      };
      filled.push(...(await fillFoldedColumns(filling, expected)));
      for (const step of steps.after) await this.#take(step);
      actual = ofServer(await readCatalog(this.client, this.name), expected, made);
    }
  }

  async #take(taken: SchemaStep): Promise<void> {
    const { tables, sql, isConcurrent, isRewrite, undo } = taken;
    const { client } = this;
    const { log, data } = this.wanted;
    const what = sql.split(/[;\n]/, 1)[0] ?? '';
    const trial = data?.trial;
    if (trial === undefined && (isConcurrent === true || isRewrite === true)) {
      const cost =
        isRewrite === true ? ', and others that use the table wait until it has ended' : '';
      log?.(`In the database, this runs${cost}: ${shownStep(sql)}`);
    }
    const run = (): Promise<unknown> =>
      trial === undefined ? client.query(sql) : this.#measure(taken, trial);
    const goBack = undo === undefined ? undefined : (): Promise<unknown> => client.query(undo);
    try {
      const step = { tables, what, run, isConcurrent, undo: goBack, log };
      await whenUnlocked(client, this.#lockWait, step);
    } catch (error) {
      throw failureOf(error, what);
    }
  }

  /** Reports to a trial how long a step takes and which locks it holds at its end. */
  async #measure({ tables, sql, isConcurrent, isNew }: SchemaStep, trial: Trial): Promise<void> {
    trial.begin();
    const start = performance.now();
    // Statements that are sent together are one transaction.
    const text = isConcurrent === true ? sql : `${sql};\n${heldLocks}`;
    // pg returns an array for several statements.
    const results = [await this.client.query<TableLock>(text)].flat();
    const milliseconds = performance.now() - start;
    const held = results.at(-1)?.rows ?? [];
    const [table = ''] = tables;
    const others = held.filter((lock) => isNew !== true || lock.table !== table);
    for (const lock of lockWords(others)) trial.locked(lock, milliseconds);
    const rows = await this.#count(`select count(*) from ${quoted(table)}`);
    trial.done(shownStep(sql), rows);
  }

  #foreignDatabase(actual: SchemaCatalog, expected: SchemaCatalog): SchemaMismatchError {
    const wanted = wantedOf(expected, this.#statements);
    const additions: Additions = {
      table: (table) => newTable(table, wanted),
      column: (table, column) =>
        `ALTER TABLE ${quoted(table)} ADD COLUMN ${columnDefinition(table, column, wanted)}`,
    };
    return foreignDatabase(schemaChanges(actual, expected), additions, foreignHint);
  }

  /** Without values, a text may hold several statements: one round trip and one transaction for all. */
  async #runAll(statements: readonly string[]): Promise<void> {
    await this.client.query(statements.map((each) => `${each};`).join('\n'));
  }

  async #journal(): Promise<readonly JournalEntry[]> {
    const { rows } =
      await this.client.query<Record<'hash' | 'time' | 'changes', string>>(journalQuery);
    return readJournal(rows);
  }

  async #made(): Promise<MadeConstraints> {
    const { rows } = await this.client.query<{ text: string }>(
      `select "text" from "__datastore" where "name" = 'constraints'`,
    );
    const [row] = rows;
    return row === undefined ? undefined : new Set(JSON.parse(row.text) as readonly string[]);
  }

  /**
   * The last step: the database matches this model.
   * @param changes for the journal, if something changed
   * @param own leaves the constraints of others out
   */
  async #remember(
    changes: readonly string[] | undefined,
    own: (present: SchemaCatalog) => SchemaCatalog,
  ): Promise<void> {
    const present = await readCatalog(this.client, this.name);
    const stamp = stampOf(this.wanted, present);
    const made = own(present).tables.flatMap(({ constraints }) =>
      constraints.map(({ name }) => name),
    );
    await this.client.query(
      `with "entry" as (
        insert into "__schema" ("hash", "time", "changes") select $2, $3, $4::text where $4::text is not null)
      insert into "__datastore" ("name", "text") values ('schema', $1), ('constraints', $5)
        on conflict ("name") do update set "text" = excluded."text"`,
      [
        stamp,
        this.#hash,
        new Date().toISOString(),
        changes === undefined ? null : JSON.stringify(changes),
        JSON.stringify(made),
      ],
    );
  }
}

/** Leaves out the constraints that others have added. */
function ofServer(
  actual: SchemaCatalog,
  expected: SchemaCatalog,
  made: MadeConstraints,
): SchemaCatalog {
  if (made === undefined) return actual;
  const tables = actual.tables.map((table): CatalogTable => {
    const wanted = expected.tables.find(({ name }) => name === table.name);
    const keys = wanted?.foreignKeys.map((each) => JSON.stringify(each)) ?? [];
    const constraints = table.constraints.filter(
      ({ name, check, foreignKey }) =>
        name.startsWith('__') ||
        made.has(name) ||
        (check !== undefined && wanted?.checks.includes(check) === true) ||
        (foreignKey !== undefined && keys.includes(JSON.stringify(foreignKey))),
    );
    return { ...table, constraints, ...validOf(constraints) };
  });
  return { ...actual, tables };
}

function missingParts(actual: SchemaCatalog, expected: SchemaCatalog): readonly string[] {
  return [
    ...missingIn(actual, expected),
    ...untouchedTables(actual, expected).map(
      (table) => `table "${table}": trigger "${touchTrigger}" is missing`,
    ),
  ];
}

/** What a newer model no longer records is nothing that an older server needs. */
function notRecorded(actual: SchemaCatalog, expected: SchemaCatalog): readonly string[] {
  return auditChanges(actual, expected)
    .filter(({ isWanted, isPresent }) => isWanted && !isPresent)
    .map(({ table }) => `table "${table}": changes are not recorded`);
}

/** @param wanted functions, each with the hash of its body */
function missingFunctions(actual: readonly string[], wanted: readonly string[]): readonly string[] {
  const signatureOf = (entry: string): string => entry.slice(0, entry.lastIndexOf(' '));
  const known = new Set(actual.map(signatureOf));
  return wanted
    .map(signatureOf)
    .filter((each) => !known.has(each))
    .map((each) => `function ${each} is missing`);
}

/** The first line of a step without its preparation. */
function shownStep(sql: string): string {
  const lines = sql.split(';\n').map((each) => (each.split('\n', 1)[0] ?? '').replace(/ \($/, ''));
  const shown = lines.filter((each) => !/ IF EXISTS |^CREATE OR REPLACE /.test(each));
  return (shown.length === 0 ? lines : shown).join('; ');
}

/** Rows written meanwhile may violate what was decided. */
function failureOf(error: unknown, what: string): unknown {
  if (!(error instanceof DatabaseError) || !explained.test(error.code ?? '')) return error;
  const detail = error.detail === undefined ? '' : ` (${error.detail})`;
  return new Error(
    `"${what}" failed: ${error.message}${detail}; earlier changes stay, and the next start continues from there`,
    { cause: error },
  );
}
