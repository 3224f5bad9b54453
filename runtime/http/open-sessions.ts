import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { allBits, HeldBits } from '../access/bits.js';
import { RequestScopes } from '../access/request-scope.js';
import type { EndedUsers } from '../access/ended-users.js';
import { undeclaredPrivileges, systemSession } from '../access/grants.js';
import { network, type ReadQuotas, RequestCounts } from '../access/quotas.js';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import type { PrivilegeTable, Session } from '../access/session.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import type { Clock } from '../entity-set/clock.js';
import { registerDirectory } from './directory-service.js';
import { decorateOwnRequests } from './own-routes.js';
import { RequestSessions } from './request-sessions.js';
import { memoryStores, type ServerStores, stateKind } from './server-stores.js';
import { tokenSettings } from './settings.js';
import { readSetting } from '../protocol/environment.js';
import { protocolError, RequestError } from '../protocol/errors.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Only where the model has roles, or dataclasses that restrict sessions. */
    readonly permissions: ServedPermissions;
    /** The scopes that say on whose behalf code runs. */
    readonly scopes: RequestScopes;
    /** Finds the session of a request. */
    readonly sessions: RequestSessions;
    /** What the server remembers about its clients. */
    readonly stores: ServerStores;
  }
  interface FastifyRequest {
    /**
     * The requester, by cookie or bearer token, in routes outside of `/rest`: from their own hooks
     * on. In hooks of the whole server it is available after the request has found its route.
     * @throws RequestError 401 for an invalid bearer token, 403 for a change that a page of another
     * site requests
     */
    readonly session: Session;
  }
}

/** Logins, bearer tokens and privileges of a server whose sessions have different rights. */
export interface ServedPermissions {
  /** Undefined if logins do not say whose sessions end. */
  readonly ended: EndedUsers | undefined;
  /** The declarations of the model; none for a model without roles. */
  readonly privileges: PrivilegeTable | undefined;
  /** Undefined if bearer tokens are not accepted. */
  readonly tokens: BearerTokens | undefined;
  /** Undefined if nobody can log in. */
  loginsOf(clock: Clock, scopes: RequestScopes): LoginAttempts | undefined;
  /** Refuses guests below `/rest`; none if they may do something there. */
  readonly requireLogin: ((app: FastifyInstance, sessions: RequestSessions) => void) | undefined;
  /** What the privileges of sessions open. */
  readonly bits: HeldBits;
}

/** Remembers clients: who they are, by a cookie or a bearer token, and their entity sets, locks and uploads. */
export const sessions = fastifyPlugin(
  async (app) => {
    const { setup, database, definitions } = app;
    const { settings, limits, quotas } = setup;
    const permissions = permissionsOf(app);
    const { processes, environment } = setup;
    const kind = stateKind(environment, database, processes);
    const stores =
      kind === 'memory'
        ? memoryStores(limits, database.dialect.foldText, permissions ?? {})
        : await (
            await import('../state/database-stores.js')
          ).databaseStores(
            limits,
            database,
            processes,
            readSetting(environment, 'SESSION_TRUST') * 1_000,
          );
    const isRestricted = definitions.some(({ restrict }) => restrict === true);
    const bits = permissions?.bits ?? new HeldBits();
    const server = { session: systemSession(), held: allBits, isServer: true } as const;
    const scopes = new RequestScopes(server, bits, isRestricted);
    app.decorate('scopes', scopes);
    app.decorate('stores', stores);
    setup.log.info(stateWords[kind]);
    if (settings.isOpen) {
      setup.log.warn(
        'The model has no roles: everything is allowed to everyone who can reach this.',
      );
    }
    const found = openSessions({
      cookie: readSetting(environment, 'SESSION_COOKIE') ?? `DRSID_${settings.name}`,
      limits,
      stores,
      privileges: permissions?.privileges ?? undeclaredPrivileges,
      ended: permissions?.ended,
      logins: permissions?.loginsOf(stores.clock, scopes),
      tokens: permissions?.tokens,
      quotas,
      scopes,
    });
    app.decorate('sessions', found);
    decorateOwnRequests(app);
  },
  { name: 'drs-sessions', dependencies: ['drs-database'] },
);

/**
 * What limits the sessions of a server; `undefined` if all of them may do everything.
 * @throws Error if `app.ts` registers no permissions and the model needs them, or a login is
 * required without them
 */
export function permissionsOf(app: FastifyInstance): ServedPermissions | undefined {
  if (app.hasPlugin('drs-permissions')) return app.permissions;
  const { settings, options, environment } = app.setup;
  const isLimited =
    settings.roles !== undefined ||
    !settings.isOpen ||
    app.definitions.some((each) => each.restrict);
  if (isLimited) {
    throw new Error(
      'The model has roles, or dataclasses that restrict sessions: register the plugin permissions of #runtime/permissions before sessions.',
    );
  }
  if (options.login !== undefined) {
    throw new Error('The model has no roles, so there is no login: remove the option login.');
  }
  const { key, keysUrl } = tokenSettings(environment);
  if (key !== '' || keysUrl !== '') {
    throw new Error(
      'TOKEN_KEY or TOKEN_KEYS_URL is set, but the model has no roles, so there is no login.',
    );
  }
  return undefined;
}

const stateWords = {
  memory: 'Sessions, entity sets, locks and uploads are in the memory of this process.',
  database: 'Sessions, entity sets, locks and uploads are in the database.',
} as const;

interface SessionParts {
  /** The name of the cookie. */
  readonly cookie: string;
  readonly limits: SessionLimits;
  readonly stores: Pick<ServerStores, 'clock' | 'sessions'>;
  readonly privileges: PrivilegeTable;
  readonly ended?: EndedUsers | undefined;
  readonly logins: LoginAttempts | undefined;
  readonly tokens: BearerTokens | undefined;
  readonly quotas: ReadQuotas;
  readonly scopes: RequestScopes;
}

export function openSessions(parts: SessionParts): RequestSessions {
  const { cookie, limits, stores, privileges, logins, tokens, quotas, scopes } = parts;
  const found = new Sessions(
    stores.sessions,
    stores.clock,
    limits,
    privileges,
    quotas.ofSession,
    scopes,
    parts.ended,
  );
  return new RequestSessions(found, cookie, logins, tokens);
}

interface Guards {
  readonly stores: Pick<ServerStores, 'sessions'>;
  readonly quotas: ReadQuotas;
  /** Whether code of the user sets quotas of sessions. */
  readonly hasCode: boolean;
  readonly requireLogin: ServedPermissions['requireLogin'];
}

/** Adds the hooks of sessions, and the addresses that begin and end them, below `/rest`. */
export function guardSessions(
  app: FastifyInstance,
  found: RequestSessions,
  { stores, quotas, hasCode, requireLogin }: Guards,
): void {
  const hasQuotas = [quotas.ofServer, quotas.ofSession, quotas.ofGuestAddress].some(
    ({ nbRequestsPerMin }) => nbRequestsPerMin !== undefined,
  );
  if (hasQuotas || hasCode) registerQuotas(app, found, quotas);
  if (stores.sessions.isShared) synchronizeSessions(app, found);
  requireLogin?.(app, found);
  registerDirectory(app, found);
}

/** If several servers have the sessions, an answer is sent only after its session is stored. */
function synchronizeSessions(app: FastifyInstance, found: RequestSessions): void {
  app.addHook('onSend', async function drsSynchronizeSession(request) {
    await found.known(request)?.synchronize();
  });
}

/**
 * Refuses requests of guests with one address, then of a session, then of a server, beyond a quota
 * (`access.md#quotas`).
 */
function registerQuotas(
  app: FastifyInstance,
  sessions: RequestSessions,
  { ofServer, ofGuestAddress }: ReadQuotas,
): void {
  const { clock, counts } = sessions.sessions;
  const ofAddresses = new RequestCounts();
  const ofAll = new RequestCounts();
  const most = { guests: ofGuestAddress.nbRequestsPerMin, all: ofServer.nbRequestsPerMin };
  const limitsAll = most.guests !== undefined || most.all !== undefined;

  app.addHook('onRequest', async (request, reply) => {
    if (!limitsAll && !sessions.sessions.hasRequestQuotas) return;
    const { isGuest, record } = await sessions.of(request, reply);
    const admit = (by: RequestCounts, owner: string, quota: number | undefined): void => {
      if (quota === undefined) return;
      const seconds = by.admit(owner, quota, clock.now());
      if (seconds !== undefined) throw exceeded(seconds);
    };
    if (isGuest) admit(ofAddresses, network(request.ip), most.guests);
    if (record !== undefined) admit(counts, record.id, record.quotas.nbRequestsPerMin);
    admit(ofAll, '', most.all);
  });
}

function exceeded(seconds: number): RequestError {
  const message = `A quota of requests is used up. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}
