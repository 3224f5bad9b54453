/** `#runtime/permissions`: what a server has whose model has roles, or dataclasses that restrict sessions. */
export { permissions } from '../http/permissions-plugin.js';
