/** `#runtime/sqlite`: SQLite as the database of a server. */
export { sqliteDialect } from '../dialect/sqlite/dialect.js';
export { sqliteDriver } from '../dialect/sqlite/open-database.js';
