import { Pool } from 'pg';
import { hashPassword } from '#runtime/access';

/** Who may log in. */
export interface User {
  readonly name: string;
  /** The hash of the password, with its salt and cost. */
  readonly password: string;
  readonly privileges: readonly string[];
  readonly roles: readonly string[];
}

interface UserRow {
  readonly name: string;
  readonly password: string;
  readonly privileges: string;
  readonly roles: string;
}

/** A separate schema from that of the model. If two servers create it at once, the second one waits for the first. */
const table = `
  select pg_advisory_xact_lock(hashtextextended('users', 0));
  create schema if not exists "users";
  create table if not exists "users"."users" (
    "folded" text collate "C" primary key,
    "name" text not null,
    "password" text not null,
    "privileges" text not null,
    "roles" text not null
  )`;

const select = 'select * from "users"."users" where "folded" = $1';

const defaultUrl = 'postgres://localhost:5432/clinic';

let opened: Promise<Pool> | undefined;

/** The database of the model; `USERS_DATABASE` names another one. */
function users(): Promise<Pool> {
  const pool = opened ?? open();
  opened = pool;
  // The database may be unreachable now, and reachable later.
  pool.catch(() => {
    opened = undefined;
  });
  return pool;
}

async function open(): Promise<Pool> {
  const { DATABASE_URL = '', USERS_DATABASE = '' } = process.env;
  const url = [USERS_DATABASE, DATABASE_URL, defaultUrl].find((each) => each !== '');
  // Idle connections do not keep a process alive.
  const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  // If an idle connection is cut, the next query opens another one.
  pool.on('error', () => undefined);
  try {
    await pool.query(table);
    await pool.query(select, ['']);
    return pool;
  } catch (error) {
    await pool.end();
    throw new Error(
      `Cannot open the database of users: ${reasonOf(error)}. USERS_DATABASE, or DATABASE_URL, names it.`,
      { cause: error },
    );
  }
}

/** For a host with several addresses, the errors of all of them arrive as one error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

/**
 * Opens the database of users. The server does so when it starts: a wrong `USERS_DATABASE` stops it.
 * @throws Error that says why it cannot be reached
 */
export async function openUsers(): Promise<void> {
  await users();
}

/** @param name in any case */
export async function findUser(name: string): Promise<User | undefined> {
  // PostgreSQL cannot store a text with this character.
  if (name.includes('\0')) return undefined;
  const pool = await users();
  const [row] = (await pool.query<UserRow>(select, [folded(name)])).rows;
  if (row === undefined) return undefined;
  const { privileges, roles } = row;
  return {
    ...row,
    privileges: JSON.parse(privileges) as string[],
    roles: JSON.parse(roles) as string[],
  };
}

/**
 * Adds a user, or replaces the one of that name.
 * @param user with the password itself; only its hash is stored
 */
export async function createUser(user: User): Promise<void> {
  const { name, privileges, roles } = user;
  if (name.trim() === '') throw new Error('A user needs a name.');
  if (user.password === '') throw new Error('A user needs a password.');
  const password = await hashPassword(user.password);
  const pool = await users();
  await pool.query(
    `insert into "users"."users" ("folded", "name", "password", "privileges", "roles")
      values ($1, $2, $3, $4, $5)
      on conflict ("folded") do update set "name" = excluded."name",
        "password" = excluded."password", "privileges" = excluded."privileges", "roles" = excluded."roles"`,
    [folded(name), name, password, JSON.stringify(privileges), JSON.stringify(roles)],
  );
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
