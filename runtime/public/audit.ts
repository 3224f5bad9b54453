/** `#runtime/audit`: records changes, and reads what is recorded, in each kind of database. */
export { postgresAudit } from '../audit/postgres.js';
export { sqliteAudit } from '../audit/sqlite.js';
export { audit } from '../http/audit-plugin.js';
