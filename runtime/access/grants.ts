import {
  foldName,
  type Grant,
  type PrivilegeSet,
  type PrivilegeTable,
  type Session,
  type SessionQuotas,
  MemoryStorage,
} from './session.js';
import { quotaNames } from './quotas.js';
import { newUuid } from '../protocol/uuid.js';

/** The privileges of a guest: none besides `guest`, which everyone holds. */
export const noPrivileges: PrivilegeSet = new Set<string>();

/** The table of a model without roles, which declares no privileges: grants are held as they are. */
export const undeclaredPrivileges: PrivilegeTable = {
  resolve: (names) => new Set(names.map(foldName).filter((name) => !builtIn.has(name))),
};

/** No privilege has a longer name: longer names of clients are not looked up. */
const longestName = 1024;

/** Everyone holds `guest` and nobody holds `none` (`model.md#roles`). */
const builtIn: ReadonlySet<string> = new Set(['guest', 'none']);

/** Reads the three forms that `setPrivileges` takes. */
export function readGrant(given: string | readonly string[] | Grant): Grant {
  return typeof given === 'string' || isList(given) ? { privileges: given } : given;
}

/**
 * Privileges of a grant.
 * @throws TypeError for a user name that is no text, as the claims of a token may contain
 */
export function grantedPrivileges(
  { userName, privileges, roles }: Grant,
  table: PrivilegeTable,
): PrivilegeSet {
  if (typeof (userName ?? '') !== 'string') throw new TypeError('The userName must be a text.');
  const names = listOf(privileges);
  const ofRoles = listOf(roles);
  if (names.length === 0 && ofRoles.length === 0) return noPrivileges;
  const granted = table.resolve(names, ofRoles);
  return granted.size === 0 ? noPrivileges : granted;
}

export function holds(privileges: PrivilegeSet, name: string): boolean {
  if (name.length > longestName) return false;
  const folded = foldName(name);
  if (folded === 'guest') return true;
  return folded !== 'none' && privileges.has(folded);
}

/** Names in a list, or separated by commas. */
export function listOf(names: string | readonly string[] | undefined): readonly string[] {
  if (names === undefined) return [];
  const list = typeof names === 'string' ? names.split(',') : names;
  return list.map((name) => name.trim()).filter((name) => name !== '');
}

/** `Array.isArray` loses the element type of a readonly list. */
function isList(given: unknown): given is readonly string[] {
  return Array.isArray(given);
}

/** A session is a guest until it has a user name or a privilege (protocol P9.9). */
export function isGuest(userName: string, privileges: PrivilegeSet): boolean {
  return userName === '' && privileges.size === 0;
}

/** Holds everything but `none`, whatever is declared. */
class EveryPrivilege extends Set<string> {
  override has(): boolean {
    return true;
  }
}

const systemId = 'system ';

/** Whether the ID of a session is that of the server itself. */
export function isSystemId(id: string): boolean {
  return id.startsWith(systemId);
}

/**
 * The server itself, for code that runs outside of any request: it holds every privilege, and its
 * session never ends.
 */
export function systemSession(): Session {
  const id = `${systemId}${newUuid()}`;
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
    id,
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
    keep: () => id,
  };
}
