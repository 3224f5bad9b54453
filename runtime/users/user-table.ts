import { dirname, join } from 'node:path';
import { Kysely, PostgresDialect, SqliteDialect, sql, type Transaction } from 'kysely';
import { hashPassword } from '../access/password.js';
import type { ServedDatabase } from '../dialect/driver.js';
import { readSetting } from '../protocol/environment.js';

/** Who may log in. */
export interface User {
  readonly name: string;
  /** The hash of the password, with its salt and cost. */
  readonly password: string;
  readonly privileges: readonly string[];
  readonly roles: readonly string[];
}

/** What a user may do. */
export type UserGrants = Pick<User, 'privileges' | 'roles'>;

interface Tables {
  readonly users: {
    readonly folded: string;
    readonly name: string;
    readonly password: string;
    readonly privileges: string;
    readonly roles: string;
  };
  /** Users whose sessions have ended; a later one has a higher number. */
  readonly ended: EndedRow;
}

interface EndedRow {
  readonly folded: string;
  readonly number: number;
}

/** An open database of users. */
interface Opened {
  readonly db: Kysely<Tables>;
  /** Makes changes one after the other, so that they become visible in the order of their numbers. */
  readonly begin: (transaction: Transaction<Tables>) => Promise<void>;
  readonly endedAfter: (number: number) => Promise<readonly EndedRow[]>;
}

/**
 * The beginning of the hash of a disabled user, as `passwd --lock` writes it: no password has such
 * a hash, in no version of the server.
 */
const disabledMark = '!';

/** The users of the generated `src/login.ts`, who log in with a name and a password. */
export class StoredUsers {
  readonly #opened: Opened;
  /** The number up to which {@link ended} has returned users. */
  #seen: number;

  private constructor(opened: Opened, seen: number) {
    this.#opened = opened;
    this.#seen = seen;
  }

  /**
   * Opens the database that `USERS_DATABASE` names, or the one beside that of the model.
   * @throws Error that says why it cannot be opened
   */
  static async open(databases: readonly ServedDatabase[]): Promise<StoredUsers> {
    const { env } = process;
    const ofData = readSetting(env, 'DATABASE_URL') ?? databases[0]?.defaultUrl ?? '';
    const url = readSetting(env, 'USERS_DATABASE') ?? ofData;
    const opened = isPostgres(url)
      ? await openPostgres(url)
      : await openSqlite(url === ofData ? besideData(ofData) : url);
    const rows = await opened.endedAfter(0);
    return new StoredUsers(opened, Math.max(0, ...rows.map(({ number }) => number)));
  }

  /** @param name in any case */
  async find(name: string): Promise<User | undefined> {
    // PostgreSQL cannot store a text with this character.
    if (name.includes('\0')) return undefined;
    const query = this.#opened.db.selectFrom('users').selectAll();
    const row = await query.where('folded', '=', folded(name)).executeTakeFirst();
    return row === undefined ? undefined : userOf(row);
  }

  async all(): Promise<readonly User[]> {
    const rows = await this.#opened.db.selectFrom('users').selectAll().orderBy('folded').execute();
    return rows.map(userOf);
  }

  /**
   * @param user with the password itself; only its hash is stored
   * @returns whether there was none of that name
   */
  async add({ name, password, privileges, roles }: User): Promise<boolean> {
    const row = {
      folded: folded(name),
      name,
      password: await hashPassword(password),
      privileges: JSON.stringify(privileges),
      roles: JSON.stringify(roles),
    };
    const insert = this.#opened.db.insertInto('users').values(row);
    const [result] = await insert.onConflict((conflict) => conflict.doNothing()).execute();
    return result?.numInsertedOrUpdatedRows === 1n;
  }

  /** Changes a user, and ends the sessions of the user in the memory of servers. */
  async change({ name }: User, changed: Partial<Omit<User, 'name'>>): Promise<void> {
    const { password, privileges, roles } = changed;
    const values = {
      ...(password === undefined ? {} : { password }),
      ...(privileges === undefined ? {} : { privileges: JSON.stringify(privileges) }),
      ...(roles === undefined ? {} : { roles: JSON.stringify(roles) }),
    };
    await this.#ending(name, async (transaction) => {
      const update = transaction.updateTable('users').set(values);
      await update.where('folded', '=', folded(name)).execute();
    });
  }

  async remove({ name }: User): Promise<void> {
    await this.#ending(name, async (transaction) => {
      await transaction.deleteFrom('users').where('folded', '=', folded(name)).execute();
    });
  }

  async endSessions({ name }: User): Promise<void> {
    await this.#ending(name, () => Promise.resolve());
  }

  /** Users whose sessions have ended since the last call, in the form in which names are compared. */
  async ended(): Promise<readonly string[]> {
    const rows = await this.#opened.endedAfter(this.#seen);
    // Another call may have been faster.
    const later = rows.filter(({ number }) => number > this.#seen);
    this.#seen = Math.max(this.#seen, ...later.map(({ number }) => number));
    return later.map((row) => row.folded);
  }

  async close(): Promise<void> {
    await this.#opened.db.destroy();
  }

  async #ending(
    name: string,
    work: (transaction: Transaction<Tables>) => Promise<void>,
  ): Promise<void> {
    const { db, begin } = this.#opened;
    await db.transaction().execute(async (transaction) => {
      await begin(transaction);
      await work(transaction);
      const next = transaction
        .selectFrom('ended')
        .select(sql<number>`coalesce(max("number"), 0) + 1`.as('number'));
      await transaction
        .insertInto('ended')
        .values({ folded: folded(name), number: next })
        .onConflict((conflict) =>
          conflict.column('folded').doUpdateSet({ number: sql`excluded."number"` }),
        )
        .execute();
    });
  }
}

export function isDisabled({ password }: User): boolean {
  return password.startsWith(disabledMark);
}

/** The hash of a user who cannot log in, or can again. */
export function disabledHash(hash: string, isToBeDisabled: boolean): string {
  const enabled = hash.startsWith(disabledMark) ? hash.slice(disabledMark.length) : hash;
  return isToBeDisabled ? `${disabledMark}${enabled}` : enabled;
}

/** What `src/login.ts` needs of the users. */
export interface UserTable {
  /** @throws Error that says why the database of users cannot be opened */
  readonly openUsers: () => Promise<void>;
  /**
   * A user who may log in; none for one who is disabled.
   * @param name in any case
   */
  readonly findUser: (name: string) => Promise<User | undefined>;
  /** Names of users whose sessions have ended since the last call. */
  readonly endedUsers: () => Promise<readonly string[]>;
}

/** The users that the command `users` manages; their database is opened when it is needed. */
export function userTable(databases: readonly ServedDatabase[]): UserTable {
  let opening: Promise<StoredUsers> | undefined;
  const users = async (): Promise<StoredUsers> => {
    opening ??= StoredUsers.open(databases);
    try {
      return await opening;
    } catch (error) {
      // The database may be unreachable now, and reachable later.
      opening = undefined;
      throw error;
    }
  };
  return {
    openUsers: async () => {
      await users();
    },
    findUser: async (name) => {
      const found = await (await users()).find(name);
      return found === undefined || isDisabled(found) ? undefined : found;
    },
    endedUsers: async () => (await users()).ended(),
  };
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

function besideData(url: string): string {
  return join(dirname(url.replace(/^sqlite:/, '')), 'users.sqlite');
}

async function openSqlite(file: string): Promise<Opened> {
  try {
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(file);
    try {
      database.exec(`create table if not exists "users" (
        "folded" text primary key,
        "name" text not null,
        "password" text not null,
        "privileges" text not null,
        "roles" text not null
      ) strict`);
      database.exec(`create table if not exists "ended" (
        "folded" text primary key,
        "number" integer not null
      ) strict`);
      database.pragma('journal_mode = WAL');
      database.prepare('select "folded" from "users" limit 1').get();
      const version = database.prepare<[], number>('pragma data_version').pluck();
      const ended = database.prepare<[number], EndedRow>('select * from "ended" where number > ?');
      let known: number | undefined;
      return {
        db: new Kysely<Tables>({ dialect: new SqliteDialect({ database }) }),
        // SQLite itself makes changes one after the other.
        begin: () => Promise.resolve(),
        endedAfter: async (number) => {
          const now = version.get();
          if (now === known) return [];
          const rows = ended.all(number);
          known = now;
          return rows;
        },
      };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw new Error(
      `Cannot open the database of users ${file}: ${reasonOf(error)}. USERS_DATABASE names its file.`,
      { cause: error },
    );
  }
}

/** A separate schema from that of the model. */
const postgresTables = `
  select pg_advisory_xact_lock(hashtextextended('users', 0));
  create schema if not exists "users";
  create table if not exists "users"."users" (
    "folded" text collate "C" primary key,
    "name" text not null,
    "password" text not null,
    "privileges" text not null,
    "roles" text not null
  );
  create table if not exists "users"."ended" (
    "folded" text collate "C" primary key,
    "number" integer not null
  )`;

async function openPostgres(url: string): Promise<Opened> {
  try {
    const { Pool } = await import('pg');
    // Idle connections do not keep a process alive.
    const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
    // If an idle connection is cut, the next query opens another one.
    pool.on('error', () => undefined);
    try {
      await pool.query(postgresTables);
      await pool.query('select "folded" from "users"."users" limit 1');
    } catch (error) {
      await pool.end();
      throw error;
    }
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema('users');
    return {
      db,
      begin: async (transaction) => {
        await sql`select pg_advisory_xact_lock(hashtextextended('users', 0))`.execute(transaction);
      },
      endedAfter: (number) =>
        db.selectFrom('ended').selectAll().where('number', '>', number).execute(),
    };
  } catch (error) {
    throw new Error(
      `Cannot open the database of users: ${reasonOf(error)}. USERS_DATABASE, or DATABASE_URL, names it.`,
      { cause: error },
    );
  }
}

/**
 * Why the database cannot be reached. For a host with several addresses, the errors of all of them
 * arrive as one error without a message.
 */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

function userOf({ name, password, privileges, roles }: Tables['users']): User {
  return {
    name,
    password,
    privileges: JSON.parse(privileges) as string[],
    roles: JSON.parse(roles) as string[],
  };
}

/** The form in which the table compares names. */
function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
