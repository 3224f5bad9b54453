import type { ServedDatabase } from '../../runtime/dialect/driver.js';
import { sqliteDriver } from '../../runtime/dialect/sqlite/driver.js';

/** What a server of SQLite alone takes, with the repository's own runtime in the place of the emitted one. */
export function servedSqlite(schema: unknown): readonly ServedDatabase[] {
  return [
    {
      driver: sqliteDriver,
      schema: schema as readonly string[],
      defaultUrl: 'sqlite:./data.sqlite',
    },
  ];
}
