import type { FastifyInstance } from 'fastify';
import { undeclaredPrivileges } from '../access/grants.js';
import { DeclaredPrivileges } from '../access/privileges.js';
import type { Settings } from './settings.js';
import type { LoginModule } from '../access/login-module.js';
import { Logins } from '../access/logins.js';
import { MemorySessionStore } from '../access/memory-session-store.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import type { Clock } from '../entity-set/clock.js';
import { registerDirectory } from './directory-service.js';
import { RequestSessions } from './request-sessions.js';
import { cookieName } from './session-cookie.js';

interface SessionServer {
  readonly settings: Pick<Settings, 'name' | 'roles'>;
  readonly limits: SessionLimits;
  readonly clock: Clock;
  readonly login: LoginModule | undefined;
}

/** The sessions of a server, and the addresses by which they begin and end. */
export function openSessions(
  app: FastifyInstance,
  { settings, limits, clock, login }: SessionServer,
): RequestSessions {
  const store = new MemorySessionStore(clock);
  const table =
    settings.roles === undefined ? undeclaredPrivileges : new DeclaredPrivileges(settings.roles);
  const sessions = new Sessions(store, clock, limits, table);
  const logins = login === undefined ? undefined : new Logins(login, clock);
  const found = new RequestSessions(sessions, cookieName(settings.name), logins);
  registerDirectory(app, found);
  return found;
}
