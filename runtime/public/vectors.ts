/** `#runtime/vectors`: compares the vectors of a model, in each kind of database. */
export { postgresVectors } from '../vectors/postgres.js';
export { sqliteVectors } from '../vectors/sqlite.js';
