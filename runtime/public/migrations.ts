/** `#runtime/migrations`: part of a server with migrations in `src/migrations`. */
export type { Migration } from '../dialect/schema/migration.js';
export { decide, plannedMigrations } from '../migration/run.js';
