import { hasVectors } from '../../model/columns.js';
import type { Database, Model } from '../../model/model.js';

/** What the files around a server say of one kind of database. */
export interface DatabaseTexts {
  /** As people write it. */
  readonly name: string;
  /** The `DATABASE_URL` where none is set. */
  readonly defaultUrl: (model: Model) => string;
  /** Lines of `package.json`. */
  readonly packages: (model: Model) => readonly string[];
  readonly typePackages: readonly string[];
  /** What a `DATABASE_URL` may be, for the README. */
  readonly urls: string;
  /** Rows of the README's table of settings. */
  readonly settings: readonly string[];
  /** Lines of `.env.example`. */
  readonly environment: readonly string[];
  /** Where users are kept. */
  readonly users: string;
  /** What else whoever runs the server has to know. */
  readonly notes: readonly string[];
}

/** What the files around a server say of each kind of database. */
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
    settings: [
      '| `SQLITE_SYNCHRONOUS` | normal | `full` puts every change on the disk before it is acknowledged; with `normal` a loss of power, but no end of the process, can take the last moments back |',
      '| `READERS` | number of cores, 3 at least | how many processes may run reads that take long, on SQLite in a file; they start when they are needed |',
    ],
    environment: ['SQLITE_SYNCHRONOUS=normal', 'READERS='],
    users: '`users.sqlite` beside the database, or where `USERS_DATABASE` says',
    notes: [
      "While the server runs, SQLite's files (`data.sqlite`, `data.sqlite-wal`, `data.sqlite-shm`) must stay where they are: stop it",
      'before another file takes their place.',
    ],
  },
  postgres: {
    name: 'PostgreSQL',
    defaultUrl: ({ name }) => `postgres://localhost:5432/${name}`,
    packages: () => ['"pg": "^8.16.0"'],
    typePackages: ['"@types/pg": "^8.15.0"'],
    urls: '`postgres://<user>:<password>@<host>:<port>/<database>`, a database of PostgreSQL 15 or newer with the encoding UTF8; `?sslmode=verify-full` and what else `pg` knows may follow',
    settings: [
      '| `DATABASE_POOL` | 10 | connections to PostgreSQL that each process of the server may have open, at least 2 |',
    ],
    environment: ['DATABASE_POOL=10'],
    users: 'the schema `users` of the database, or of the one that `USERS_DATABASE` names',
    notes: [
      'In PostgreSQL the tables stand in the schema that comes first in the search path, `public` where nothing else is said. The',
      'database itself must be there; `createdb` makes one.',
    ],
  },
};
