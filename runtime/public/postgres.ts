/** `#runtime/postgres`: PostgreSQL as the database of a server. */
export { postgresDialect } from '../dialect/postgres/dialect.js';
export { postgresDriver } from '../dialect/postgres/open.js';
