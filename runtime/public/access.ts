/** `#runtime/access`: what `src/login.ts` and the users that it looks up are written with. */
export type { Login, TokenClaims } from '../access/login-module.js';
export { hashPassword, isPassword } from '../access/password.js';
export type { Grant, Session } from '../access/session.js';
export { nearestName } from '../protocol/names.js';
