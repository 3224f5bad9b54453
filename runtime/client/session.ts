import { bodyOf, type ClientRequest, type Connection } from './connection.js';
import { isRecord, reasonsOf, RestError } from './errors.js';
import type { Session } from './types.js';

/**
 * The session of a connection.
 * @param own aborts requests that have no signal
 */
export function sessionOf(connection: Connection, own: AbortSignal | undefined): Session {
  const ask = async (
    name: string,
    signal: AbortSignal | undefined,
    body?: unknown,
  ): Promise<unknown> => {
    const request: ClientRequest = { method: 'POST', path: `/$directory/${name}`, body, signal };
    return (await connection.object(request))['result'];
  };
  return {
    login: async (user, password, { seconds, signal = own } = {}) => {
      const body = [user, password, ...(seconds === undefined ? [] : [seconds])];
      const request = { method: 'POST', path: '/$directory/login', body, signal } as const;
      const response = await connection.send(request);
      const answer = await bodyOf(response, request);
      if (isRecord(answer) && typeof answer['result'] === 'boolean') return answer['result'];
      throw new RestError(response.status, reasonsOf(answer));
    },
    logout: async ({ signal = own } = {}) => {
      await ask('logout', signal);
    },
    userName: async ({ signal = own } = {}) => {
      const user = await ask('currentUser', signal);
      return isRecord(user) && typeof user['userName'] === 'string' ? user['userName'] : null;
    },
    hasPrivilege: async (...names) => (await ask('currentUserBelongsTo', own, names)) === true,
  };
}
