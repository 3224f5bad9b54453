/** `#runtime/access`: the types and functions of `src/login.ts` and of its table of users. */
export type { Login, TokenClaims } from '../access/login-module.js';
export { hashPassword, isPassword } from '../access/password.js';
export type { Grant, Session } from '../access/session.js';
export { nearestName } from '../protocol/names.js';
