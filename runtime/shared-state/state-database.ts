import { protocolError, RequestError } from '../protocol/errors.js';
/** The value of a column of the state. */
export type StateValue = string | number | null | Uint8Array;

/** A prepared statement. */
export interface StateStatement {
  /** The first row as a list; of a row with one column, its value. */
  first(...values: readonly StateValue[]): unknown;
  all(...values: readonly StateValue[]): readonly unknown[];
  /** @returns how many rows it changed; only inside {@link StateDatabase.change} */
  run(...values: readonly StateValue[]): number;
}

/**
 * The part of the package better-sqlite3 that is used: a server of another database does not have
 * its types.
 */
interface SqliteStatement {
  get(...values: readonly StateValue[]): unknown;
  all(...values: readonly StateValue[]): unknown[];
  run(...values: readonly StateValue[]): { readonly changes: number };
  raw(): this;
  pluck(): this;
  columns(): readonly unknown[];
  readonly reader: boolean;
}
interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  pragma(text: string): unknown;
  close(): unknown;
  readonly inTransaction: boolean;
}
interface Sqlite {
  readonly default: new (path: string) => SqliteDatabase;
}

/** In a variable, because a server of another database need not have the package. */
const packageName = 'better-sqlite3';

/** How long a change waits for those of other processes, which take some microseconds each. */
const longestMilliseconds = 5_000;
/** Attempts without a pause, some microseconds each. */
const quickAttempts = 50;

/**
 * The common memory of the processes of one server, in a file that lives as long as the server.
 * Nothing in it must survive a power failure, so nothing waits for a disk.
 *
 * It answers at once, and the next statement sees a change of another process.
 */
export class StateDatabase {
  readonly #database: SqliteDatabase;
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  #depth = 0;
  #afterwards: (() => void)[] = [];

  private constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#begin = database.prepare('begin immediate');
    this.#commit = database.prepare('commit');
  }

  /**
   * Opens the state in a file, or creates it.
   * @throws Error if the package better-sqlite3 is missing, or the file cannot be written
   */
  static async open(path: string): Promise<StateDatabase> {
    const { default: Database } = await loadSqlite();
    const database = new Database(path);
    // We wait in shorter steps than SQLite does.
    database.pragma('busy_timeout = 0');
    patiently(() => database.pragma('journal_mode = WAL'));
    database.pragma('synchronous = OFF');
    database.pragma('journal_size_limit = 67108864');
    patiently(() => database.exec(`begin immediate; ${stateSchema} commit;`));
    return new StateDatabase(database);
  }

  /** @param sql writes all values as `?`, or all as `?1`, `?2` and so on */
  prepare(sql: string): StateStatement {
    // The package takes only values without a number.
    const numbers = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number) - 1);
    const prepared = this.#database.prepare(sql.replaceAll(/\?\d+/g, '?'));
    if (prepared.reader) {
      if (prepared.columns().length === 1) prepared.pluck();
      else prepared.raw();
    }
    const bound = (values: readonly StateValue[]): readonly StateValue[] =>
      numbers.length === 0 ? values : numbers.map((number) => values[number] ?? null);
    return {
      first: (...values) => patiently(() => prepared.get(...bound(values))),
      all: (...values) => patiently(() => prepared.all(...bound(values))),
      run: (...values) => prepared.run(...bound(values)).changes,
    };
  }

  /**
   * Runs changes as one: other processes see all of them or none. A change within a change is part
   * of it.
   * @throws RequestError 503 if other processes leave no gap for too long; what `changes` throws,
   * and nothing is changed then
   */
  change<T>(changes: () => T): T {
    if (this.#depth > 0) return changes();
    patiently(() => this.#begin.run());
    this.#depth = 1;
    try {
      const result = changes();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('rollback');
      throw translated(error);
    } finally {
      this.#depth = 0;
      this.#runAfterwards();
    }
  }

  /** Whether a change runs, which other processes do not see yet. */
  get isChanging(): boolean {
    return this.#depth > 0;
  }

  /** Calls when the running change is committed or rolled back. */
  afterwards(call: () => void): void {
    if (this.#depth === 0) call();
    else this.#afterwards.push(call);
  }

  close(): void {
    this.#database.close();
  }

  #runAfterwards(): void {
    if (this.#afterwards.length === 0) return;
    const afterwards = this.#afterwards;
    this.#afterwards = [];
    const errors: unknown[] = [];
    // If one fails, the others are called all the same.
    for (const each of afterwards) {
      try {
        each();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw translated(errors[0]);
  }
}

async function loadSqlite(): Promise<Sqlite> {
  try {
    return (await import(packageName)) as Sqlite;
  } catch (error) {
    const message = `PROCESSES above 1 needs the package ${packageName}: npm install ${packageName}`;
    throw new Error(message, { cause: error });
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Tries again while another process holds the file, mostly for less time than a pause takes. */
function patiently<T>(work: () => T): T {
  let end: number | undefined;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw translated(error);
    }
    if (attempt < quickAttempts) continue;
    const now = performance.now();
    end ??= now + longestMilliseconds;
    if (now >= end) throw busy();
    Atomics.wait(pause, 0, 0, 1);
  }
}

function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

function busy(): RequestError {
  return unavailable('is in use for too long');
}

/** Translates an error such as that of a full disk. */
function translated(error: unknown): unknown {
  const code = codeOf(error);
  return /^(?:SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN|NOMEM)|ENOSPC|EDQUOT|EIO$)/.test(code)
    ? unavailable(`cannot be written now (${code})`)
    : error;
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

function unavailable(reason: string): RequestError {
  const text = `The shared state of the processes ${reason}.`;
  return new RequestError(503, [protocolError('unavailable', text)], { 'retry-after': '1' });
}

/** Counts the rows, or adds up a column, of a table. */
function total(name: string, table: string, amount: (row: string) => string): string {
  return `
insert or ignore into "total" values ('${name}', 0);
create trigger if not exists "${name} added" after insert on "${table}" begin
  update "total" set "value" = "value" + ${amount('new')} where "name" = '${name}';
end;
create trigger if not exists "${name} removed" after delete on "${table}" begin
  update "total" set "value" = "value" - ${amount('old')} where "name" = '${name}';
end;
create trigger if not exists "${name} changed" after update on "${table}"
when ${amount('new')} <> ${amount('old')} begin
  update "total" set "value" = "value" + ${amount('new')} - ${amount('old')} where "name" = '${name}';
end;`;
}

/** The state that the processes of a server share. Times are milliseconds of their common clock. */
const stateSchema = `
create table if not exists "total" ("name" text primary key, "value" integer not null) without rowid;

create table if not exists "session" (
  "id" text primary key, "token" text not null unique, "userName" text not null, "privileges" text not null,
  "quotas" text not null, "idleTimeout" real not null, "refreshed" real not null, "expires" real not null,
  "ends" real not null, "isForeign" integer not null, "address" text, "network" text, "isGuest" integer not null
) without rowid;
create index if not exists "session expires" on "session" ("expires");
create index if not exists "session network" on "session" ("network") where "isGuest" = 1;
create table if not exists "replaced" ("session" text primary key, "expires" real not null) without rowid;
create table if not exists "stored" (
  "session" text not null, "name" text not null, "value" blob not null, "position" integer not null,
  primary key ("session", "name")
) without rowid;
create table if not exists "rate" ("owner" text primary key, "windows" text not null) without rowid;
create table if not exists "failure" (
  "position" integer primary key autoincrement, "kind" text not null, "name" text not null, "count" integer not null,
  "until" real not null, "expires" real not null, unique ("kind", "name")
);

create table if not exists "lock" (
  "dataclass" text not null, "key" not null, "session" text not null, "host" text, "address" text, "userAgent" text,
  primary key ("dataclass", "key")
) without rowid;
create index if not exists "lock session" on "lock" ("session");

create table if not exists "keys" (
  "id" integer primary key, "type" text not null, "content" blob not null, "length" integer not null,
  "bytes" integer not null, "holders" integer not null
);
create table if not exists "entityset" (
  "id" text primary key, "dataclass" text not null, "keys" integer not null, "owner" text, "maker" text,
  "timeout" real not null, "isSorted" integer not null, "refreshed" real not null, "expires" real not null,
  "used" integer not null
) without rowid;
create index if not exists "entityset maker" on "entityset" ("maker") where "maker" is not null;
create index if not exists "entityset expires" on "entityset" ("expires");
create index if not exists "entityset used" on "entityset" ("owner" is not null, "used");

create table if not exists "upload" (
  "id" text primary key, "owner" text not null, "path" text not null, "type" text, "space" integer not null,
  "expires" real not null, "sender" text, "written" integer not null
) without rowid;
create index if not exists "upload owner" on "upload" ("owner");
create index if not exists "upload expires" on "upload" ("expires");
create table if not exists "receiving" (
  "account" text not null, "process" integer not null, "space" integer not null, primary key ("account", "process")
) without rowid;
${total('guests', 'session', (row) => `${row}."isGuest"`)}
${total('users', 'session', (row) => `(1 - ${row}."isGuest")`)}
${total('locks', 'lock', (row) => `(${row}."session" is not null)`)}
${total('sets', 'entityset', (row) => `(${row}."id" is not null)`)}
${total('keys', 'keys', (row) => `${row}."bytes"`)}
insert or ignore into "total" values ('use', 0);
`;
