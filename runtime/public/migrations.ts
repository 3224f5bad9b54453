/** `#runtime/migrations`: part of a server with migrations in `src/migrations`. */
export { decide, plannedMigrations } from '../migration/run.js';
