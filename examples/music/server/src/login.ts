import { isPassword, type Login } from '#runtime/access';
import { findUser } from './generated/user-table.js';

/**
 * The server calls `openUsers` when it starts, and an error stops the start. If sessions are in its memory, it calls
 * `endedUsers` before it uses one, and ends those of users who were disabled, removed or changed.
 */
export { endedUsers, openUsers } from './generated/user-table.js';

/**
 * Decides who may log in and what they may do: called for `POST /rest/$directory/login`, and by `session.login()` in class
 * code. This file is yours: it can also use a directory, a table of the model or another service. The server itself
 * delays failed attempts, by user and by address.
 * @returns `null` if the name or the password is wrong, or the user is disabled
 */
export async function login(user: string, password: string): Promise<Login | null> {
  const found = await findUser(user);
  // An unknown user takes as long to refuse as a wrong password.
  const isRight = await isPassword(password, found?.password);
  if (found === undefined || !isRight) return null;
  // Privileges and roles of the model, from wherever you keep them: { userName: 'mia', roles: ['HR'] }
  return { userName: found.name, privileges: found.privileges, roles: found.roles };
}

// Requests with `Authorization: Bearer <token>` are another way to log in. The server checks signature and time of a JSON Web Token
// with the key or the key set that TOKEN_KEY or TOKEN_KEYS_URL names; this function maps its claims to a user.
//
// import type { TokenClaims } from '#runtime/access';
//
// export function loginWithToken(claims: TokenClaims): Login | null {
//   return typeof claims['sub'] === 'string' ? { userName: claims['sub'], roles: ['HR'] } : null;
// }
