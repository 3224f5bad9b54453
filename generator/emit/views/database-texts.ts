import { hasVectors } from '../../model/columns.js';
import type { Database, Model } from '../../model/model.js';

/** The texts about one database system in the README and other files of a server. */
export interface DatabaseTexts {
  /** Its usual name. */
  readonly name: string;
  /** The default of `DATABASE_URL`. */
  readonly defaultUrl: (model: Model) => string;
  /** Lines of `package.json`. */
  readonly packages: (model: Model) => readonly string[];
  readonly typePackages: readonly string[];
  /** The forms of `DATABASE_URL`, for the README. */
  readonly urls: string;
  /** The place where users are stored. */
  readonly users: string;
  /** Further notes for operators. */
  readonly notes: readonly string[];
}

/** These texts for each database system. */
export const databaseTexts: Readonly<Record<Database, DatabaseTexts>> = {
  sqlite: {
    name: 'SQLite',
    defaultUrl: () => 'sqlite:./data.sqlite',
    // Vectors are compared by an extension.
    packages: (model) => [
      '"better-sqlite3": "^12.11.1 || ^13.2.0"',
      ...(hasVectors(model) ? ['"sqlite-vec": "^0.1.9"'] : []),
    ],
    typePackages: ['"@types/better-sqlite3": "^7.6.13"'],
    urls: '`sqlite:<path>`, or `sqlite::memory:` for a database that ends with the process',
    users: '`users.sqlite` next to the database, or in the file that `USERS_DATABASE` names',
    notes: [
      'While the server runs, leave `data.sqlite`, `data.sqlite-wal` and `data.sqlite-shm` where they are, and stop it before you replace',
      'them. `sqlite3 data.sqlite "VACUUM INTO \'backup.sqlite\'"` makes a backup while it runs.',
    ],
  },
  postgres: {
    name: 'PostgreSQL',
    defaultUrl: ({ name }) => `postgres://localhost:5432/${name}`,
    packages: () => ['"pg": "^8.16.0"'],
    typePackages: ['"@types/pg": "^8.15.0"'],
    urls: '`postgres://<user>:<password>@<host>:<port>/<database>`, a database of PostgreSQL 15 or newer with the encoding UTF8; `?sslmode=verify-full` and other options of `pg` may follow',
    users: 'the schema `users` of the database, or of the one that `USERS_DATABASE` names',
    notes: [
      'The PostgreSQL database must exist; `createdb` makes one. The tables are created in the first schema of the search path, `public`',
      'unless you say otherwise.',
    ],
  },
};
