import { holds } from './grants.js';
import { quotaNames } from './quota-values.js';
import type { PrivilegeSet, Session, SessionQuotas } from './session.js';
import { MemoryStorage } from './storage.js';

/** Holds everything but `none`, whatever is declared. */
class EveryPrivilege extends Set<string> {
  override has(): boolean {
    return true;
  }
}

/** The server itself, for code that runs outside of any request: it holds every privilege, and its session never ends. */
export function systemSession(): Session {
  const privileges: PrivilegeSet = new EveryPrivilege();
  const storage = new MemoryStorage();
  const fixed = (): never => {
    throw new Error(
      'The server’s own session holds every privilege; there is no request to log in by.',
    );
  };
  const quotas = {
    currentValues: {},
    ...Object.fromEntries(quotaNames.map((n) => [n, undefined])),
  };
  return {
    id: 'system',
    userName: 'system',
    isGuest: false,
    privileges,
    storage,
    quotas: quotas as SessionQuotas,
    origin: undefined,
    hasPrivilege: (name) => holds(privileges, name),
    require: () => undefined,
    setPrivileges: fixed,
    clearPrivileges: fixed,
    login: fixed,
    promote: async (_privileges, work) => work(),
    keep: () => 'system',
  };
}
