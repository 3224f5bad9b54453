import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
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

let opened: Database.Database | undefined;

const select = 'select * from "users" where "folded" = ?';

/** A separate database from that of the model: `USERS_DATABASE` names another file. */
function users(): Database.Database {
  if (opened !== undefined) return opened;
  const { DATABASE_URL = '', USERS_DATABASE = '' } = process.env;
  const beside = join(dirname(DATABASE_URL.replace(/^sqlite:/, '')), 'users.sqlite');
  const file = USERS_DATABASE === '' ? beside : USERS_DATABASE;
  let database: Database.Database | undefined;
  try {
    database = new Database(file);
    database.exec(`create table if not exists "users" (
      "folded" text primary key,
      "name" text not null,
      "password" text not null,
      "privileges" text not null,
      "roles" text not null
    ) strict`);
    database.pragma('journal_mode = WAL');
    database.prepare(select).get('');
  } catch (error) {
    database?.close();
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Cannot open the database of users ${file}: ${reason}. USERS_DATABASE names its file.`;
    throw new Error(message, { cause: error });
  }
  opened = database;
  return database;
}

/**
 * Opens the database of users. The server does so when it starts: a wrong `USERS_DATABASE` stops it.
 * @throws Error that names the file
 */
export function openUsers(): void {
  users();
}

/** @param name in any case */
export function findUser(name: string): Promise<User | undefined> {
  const row = users().prepare<[string], UserRow>(select).get(folded(name));
  if (row === undefined) return Promise.resolve(undefined);
  const { privileges, roles } = row;
  return Promise.resolve({
    ...row,
    privileges: JSON.parse(privileges) as string[],
    roles: JSON.parse(roles) as string[],
  });
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
  users()
    .prepare('insert or replace into "users" values (?, ?, ?, ?, ?)')
    .run(folded(name), name, password, JSON.stringify(privileges), JSON.stringify(roles));
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
