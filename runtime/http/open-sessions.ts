import type { FastifyInstance } from 'fastify';
import type { Calls } from '../access/call.js';
import { undeclaredPrivileges } from '../access/grants.js';
import { DeclaredPrivileges } from '../access/privileges.js';
import type { Settings } from './settings.js';
import type { LoginModule } from '../access/login-module.js';
import { Logins } from '../access/logins.js';
import { Promotions } from '../access/promotions.js';
import { hasRates } from '../access/rate-windows.js';
import type { ReadQuotas } from '../access/server-quotas.js';
import type { Tokens } from '../access/tokens.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import { registerDirectory } from './directory-service.js';
import { registerQuotas } from './quota-hooks.js';
import { requireLogin } from './require-login.js';
import { RequestSessions } from './request-sessions.js';
import type { ServerStores } from './server-stores.js';
import { cookieName } from './session-cookie.js';

interface SessionServer {
  readonly settings: Pick<Settings, 'name' | 'roles'>;
  readonly limits: SessionLimits;
  readonly stores: Pick<ServerStores, 'clock' | 'sessions' | 'loginFailures' | 'rates'>;
  readonly login: LoginModule | undefined;
  readonly tokens: Tokens | undefined;
  readonly quotas: ReadQuotas;
  /** Where class code runs, which may set quotas of its sessions; none without class code. */
  readonly calls: Calls | undefined;
}

/** The sessions of a server, and the addresses by which they begin and end. */
export function openSessions(
  app: FastifyInstance,
  { settings, limits, stores, login, tokens, quotas, calls }: SessionServer,
): RequestSessions {
  const { clock, rates } = stores;
  const table =
    settings.roles === undefined ? undeclaredPrivileges : new DeclaredPrivileges(settings.roles);
  const promotions = calls === undefined ? undefined : new Promotions(calls, table);
  const sessions = new Sessions(
    stores.sessions,
    clock,
    limits,
    table,
    quotas.ofSession,
    promotions,
  );
  const logins =
    login === undefined ? undefined : new Logins(loginOf(login, calls), stores.loginFailures);
  const found = new RequestSessions(sessions, cookieName(settings.name), logins, tokens);
  const hasQuotas = hasRates(quotas.ofServer) || hasRates(quotas.ofSession);
  if (hasQuotas || calls !== undefined)
    registerQuotas(app, found, { quotas: quotas.ofServer, rates });
  if (stores.sessions.isShared) settleSessions(app, found);
  if (settings.roles?.forceLogin === true) requireLogin(app, found);
  registerDirectory(app, found);
  return found;
}

/** Where several processes serve, an answer tells of a session what it has become by all of them. */
function settleSessions(app: FastifyInstance, sessions: RequestSessions): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    try {
      sessions.known(request)?.settle();
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, payload);
  });
}

/** The user's `login` runs as the server itself, wherever the session is that logs in. */
function loginOf({ login }: LoginModule, calls: Calls | undefined): Pick<LoginModule, 'login'> {
  if (calls === undefined) return { login };
  return { login: (user, password) => calls.asServerWithin(() => login(user, password)) };
}
