/**
 * `#runtime/permissions`: part of a server whose model has roles, or dataclasses with `restrict`.
 */
export { permissions } from '../http/permissions-plugin.js';
