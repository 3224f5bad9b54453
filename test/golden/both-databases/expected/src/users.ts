import * as inPostgres from './users-in-postgres.js';
import * as inSqlite from './users-in-sqlite.js';

export type { User } from './users-in-sqlite.js';

const defaultUrl = 'postgres://localhost:5432/clinic';
const { DATABASE_URL = '', USERS_DATABASE = '' } = process.env;
const url = [USERS_DATABASE, DATABASE_URL, defaultUrl].find((each) => each !== '') ?? '';

/** Users are stored in the kind of database of the model, or in `USERS_DATABASE`: a URL of PostgreSQL, or a file. */
const inDatabase = /^postgres(?:ql)?:/.test(url) ? inPostgres : inSqlite;
export const { createUser, findUser, openUsers } = inDatabase;
