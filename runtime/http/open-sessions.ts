import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { Calls } from '../access/call.js';
import { undeclaredPrivileges } from '../access/grants.js';
import { Promotions } from '../access/promotions.js';
import { hasRates } from '../access/rate-windows.js';
import type { ReadQuotas } from '../access/server-quotas.js';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import type { PrivilegeTable, Session } from '../access/session.js';
import { systemSession } from '../access/system-session.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import { registerDirectory } from './directory-service.js';
import { openStores } from './open-stores.js';
import { decorateOwnRequests } from './own-routes.js';
import { registerQuotas } from './quota-hooks.js';
import { RequestSessions } from './request-sessions.js';
import { closeStores, followSessions, type ServerStores } from './server-stores.js';
import { cookieName } from './session-cookie.js';
import { permissionsOf, type ServedPermissions } from './served-permissions.js';
import type { Settings } from './settings.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** On whose behalf code runs. */
    readonly calls: Calls;
    /** Finds the session of a request. */
    readonly sessions: RequestSessions;
    /** What the server remembers of its clients. */
    readonly stores: ServerStores;
  }
  interface FastifyRequest {
    /**
     * Who asks, by cookie or bearer token, in routes outside of `/rest`: from their own hooks on. In hooks of the whole server it
     * is there once the request has found its route's handler.
     * @throws RequestError 401 for a bearer token that is not right, 403 for a change that a page of another site asks for
     */
    readonly session: Session;
  }
}

/** Remembers clients: who they are, by a cookie or a bearer token, and their entity sets, locks, uploads and quotas. */
export const sessions = fastifyPlugin(
  async (app) => {
    const { setup, database } = app;
    const { settings, limits, quotas } = setup;
    const permissions = permissionsOf(app);
    const stores = await openStores(setup.joined, limits, database);
    setup.closeAtEnd(async () => {
      await closeStores(stores);
      stores.close();
    });
    if (settings.isOpen) {
      setup.log.warn(
        'The model has no roles: everything is allowed to everyone who can reach this.',
      );
    }
    const calls = new Calls({ session: systemSession(), isServer: true });
    const found = openSessions({
      name: settings.name,
      limits,
      stores,
      privileges: permissions?.privileges ?? undeclaredPrivileges,
      logins: permissions?.loginsOf(stores, calls),
      tokens: permissions?.tokens,
      quotas,
      calls,
    });
    followSessions(found.sessions, stores);
    app.decorate('calls', calls);
    app.decorate('sessions', found);
    app.decorate('stores', stores);
    decorateOwnRequests(app);
  },
  { name: 'drs-sessions', dependencies: ['drs-database'] },
);

interface SessionParts {
  /** Of the datastore. */
  readonly name: Settings['name'];
  readonly limits: SessionLimits;
  readonly stores: Pick<ServerStores, 'clock' | 'sessions'>;
  readonly privileges: PrivilegeTable;
  readonly logins: LoginAttempts | undefined;
  readonly tokens: BearerTokens | undefined;
  readonly quotas: ReadQuotas;
  readonly calls: Calls;
}

/** The sessions of a server. */
export function openSessions(parts: SessionParts): RequestSessions {
  const { name, limits, stores, privileges, logins, tokens, quotas, calls } = parts;
  const found = new Sessions(
    stores.sessions,
    stores.clock,
    limits,
    privileges,
    quotas.ofSession,
    new Promotions(calls, privileges),
  );
  return new RequestSessions(found, cookieName(name), logins, tokens);
}

interface Guards {
  readonly stores: Pick<ServerStores, 'sessions' | 'rates'>;
  readonly quotas: ReadQuotas;
  /** Whether code of the user sets quotas of sessions. */
  readonly hasCode: boolean;
  readonly requireLogin: ServedPermissions['requireLogin'];
}

/** Puts the hooks of sessions, and the addresses by which they begin and end, on what is below `/rest`. */
export function guardSessions(
  app: FastifyInstance,
  found: RequestSessions,
  { stores, quotas, hasCode, requireLogin }: Guards,
): void {
  const hasQuotas = hasRates(quotas.ofServer) || hasRates(quotas.ofSession);
  if (hasQuotas || hasCode)
    registerQuotas(app, found, { quotas: quotas.ofServer, rates: stores.rates });
  if (stores.sessions.isShared) settleSessions(app, found);
  requireLogin?.(app, found);
  registerDirectory(app, found);
}

/** Where several processes serve, an answer tells of a session what it has become by all of them. */
function settleSessions(app: FastifyInstance, found: RequestSessions): void {
  app.addHook('onSend', function drsSettleSession(request, _reply, payload, done) {
    try {
      found.known(request)?.settle();
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, payload);
  });
}
