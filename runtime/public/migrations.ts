/** `#runtime/migrations`: what a server has that has migrations in `src/migrations`. */
export { decide, plannedMigrations } from '../migration/run.js';
