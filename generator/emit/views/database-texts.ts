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
      '| `SQLITE_SYNCHRONOUS` | normal | `full` writes every change to the disk before it is acknowledged; with `normal` a power failure, but no crash of the process, can undo the last moments |',
      '| `READERS` | number of cores, at least 3 | how many processes may run long reads, on SQLite in a file; they start when they are needed |',
    ],
    environment: ['SQLITE_SYNCHRONOUS=normal', 'READERS='],
    users: '`users.sqlite` beside the database, or where `USERS_DATABASE` says',
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
    settings: [
      '| `DATABASE_POOL` | 10 | connections to PostgreSQL per process of the server, at least 2 |',
    ],
    environment: ['DATABASE_POOL=10'],
    users: 'the schema `users` of the database, or of the one that `USERS_DATABASE` names',
    notes: [
      'The PostgreSQL database must exist; `createdb` makes one. The tables are created in the first schema of the search path, `public`',
      'unless you say otherwise.',
    ],
  },
};
