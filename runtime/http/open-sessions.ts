import type { FastifyInstance } from 'fastify';
import { undeclaredPrivileges } from '../access/grants.js';
import type { LoginModule } from '../access/login-module.js';
import { Logins } from '../access/logins.js';
import { MemorySessionStore } from '../access/memory-session-store.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import type { Clock } from '../entity-set/clock.js';
import { registerDirectory } from './directory-service.js';
import { RequestSessions } from './request-sessions.js';
import { cookieName } from './session-cookie.js';

interface SessionServer {
  /** Name of the datastore. */
  readonly settings: { readonly name: string };
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
  const sessions = new Sessions(store, clock, limits, undeclaredPrivileges);
  const logins = login === undefined ? undefined : new Logins(login, clock);
  const found = new RequestSessions(sessions, cookieName(settings.name), logins);
  registerDirectory(app, found);
  return found;
}
