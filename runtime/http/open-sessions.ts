import type { FastifyInstance, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { RequestScopes } from '../access/request-scope.js';
import { undeclaredPrivileges, systemSession } from '../access/grants.js';
import { hasRates, type QuotaValues, type Rates, type ReadQuotas } from '../access/quotas.js';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import type { PrivilegeTable, Session } from '../access/session.js';
import { type SessionLimits, Sessions } from '../access/sessions.js';
import { registerDirectory } from './directory-service.js';
import { decorateOwnRequests } from './own-routes.js';
import { RequestSessions, cookieName } from './request-sessions.js';
import {
  closeStores,
  followSessions,
  type ServerStores,
  memoryStores,
  type StoreLimits,
} from './server-stores.js';
import { permissionsOf, type ServedPermissions } from './optional-plugins.js';
import type { Settings } from './settings.js';
import type { RequestSession } from '../access/request-session.js';
import { whenThere } from '../dialect/pending.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { Database } from '../dialect/database.js';
import type { AppState } from '../shared-state/joined-state.js';
import type { Fold } from '../protocol/fold.js';
import { openSharing } from '../shared-state/open-sharing.js';
import { SharedLockTable } from '../shared-state/shared-lock-table.js';
import { RateTable, serverRates, SharedRates } from '../shared-state/shared-rates.js';
import { SharedSessionStore } from '../shared-state/shared-session-store.js';
import { SharedEntitySetStore } from '../shared-state/shared-set-store.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** On whose behalf code runs. */
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

/** Remembers clients: who they are, by a cookie or a bearer token, and their entity sets, locks, uploads and quotas. */
export const sessions = fastifyPlugin(
  async (app) => {
    const { setup, database, definitions } = app;
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
    const isRestricted = definitions.some(({ restrict }) => restrict === true);
    const scopes = new RequestScopes({ session: systemSession(), isServer: true }, isRestricted);
    const found = openSessions({
      name: settings.name,
      limits,
      stores,
      privileges: permissions?.privileges ?? undeclaredPrivileges,
      logins: permissions?.loginsOf(stores, scopes),
      tokens: permissions?.tokens,
      quotas,
      scopes,
    });
    followSessions(found.sessions, stores);
    app.decorate('scopes', scopes);
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
  readonly scopes: RequestScopes;
}

/** The sessions of a server. */
export function openSessions(parts: SessionParts): RequestSessions {
  const { name, limits, stores, privileges, logins, tokens, quotas, scopes } = parts;
  const found = new Sessions(
    stores.sessions,
    stores.clock,
    limits,
    privileges,
    quotas.ofSession,
    scopes,
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

/** Adds the hooks of sessions, and the addresses that begin and end them, below `/rest`. */
export function guardSessions(
  app: FastifyInstance,
  found: RequestSessions,
  { stores, quotas, hasCode, requireLogin }: Guards,
): void {
  const hasQuotas = hasRates(quotas.ofServer) || hasRates(quotas.ofSession);
  if (hasQuotas || hasCode)
    registerQuotas(app, found, { quotas: quotas.ofServer, rates: stores.rates });
  if (stores.sessions.isShared) synchronizeSessions(app, found);
  requireLogin?.(app, found);
  registerDirectory(app, found);
}

/**
 * If several processes serve, an answer is sent only after all of them know the changes of its
 * session.
 */
function synchronizeSessions(app: FastifyInstance, found: RequestSessions): void {
  app.addHook('onSend', function drsSynchronizeSession(request, _reply, payload, done) {
    try {
      found.known(request)?.synchronize();
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, payload);
  });
}

/** Requests and bytes that are counted together. */
interface Counter {
  readonly quotas: QuotaValues;
  readonly rates: Rates;
}

/**
 * Refuses requests of a session, then of a server, that has used up a rate (`access.md#quotas`).
 * Bytes are counted when the answer is sent, so the request that uses them up is the last one that
 * is answered.
 * @param server what the server as a whole may use, and has used
 */
function registerQuotas(app: FastifyInstance, sessions: RequestSessions, server: Counter): void {
  const { clock } = sessions.sessions;
  const shared: readonly Counter[] = hasRates(server.quotas) ? [server] : [];
  const isUnlimited = (): boolean => shared.length === 0 && !sessions.sessions.hasRates;
  const countersOf = (session: RequestSession | undefined): readonly Counter[] => {
    const { quotas, rates } = session?.record ?? {};
    return quotas === undefined || rates === undefined ? shared : [{ quotas, rates }, ...shared];
  };

  app.addHook('onRequest', (request, reply, done) => {
    if (isUnlimited()) {
      done();
      return;
    }
    const checked = whenThere(sessions.of(request, reply), (session) => {
      const counters = countersOf(session);
      const now = clock.now();
      for (const { quotas, rates } of counters) {
        const seconds = rates.exceeded(quotas, now);
        if (seconds !== undefined) {
          done(exceeded(seconds));
          return;
        }
      }
      for (const { quotas, rates } of counters) rates.count(quotas, 'nbRequests', 1, now);
      done();
    });
    if (checked instanceof Promise) checked.catch(done);
  });

  app.addHook('onSend', function drsCountBytes(request, reply, payload, done) {
    const counters = isUnlimited() ? [] : countersOf(sessions.known(request));
    if (counters.length > 0) {
      const now = clock.now();
      const received = bytesOfRequest(request);
      const sent = bytesOf(payload) ?? Number(reply.getHeader('content-length') ?? 0);
      for (const { quotas, rates } of counters) {
        rates.count(quotas, 'inBytes', received, now);
        rates.count(quotas, 'outBytes', sent, now);
      }
    }
    done(null, payload);
  });
}

/** A line of a header has a colon, a blank and a line break in addition to name and value. */
function bytesOfRequest({ raw, headers, body }: FastifyRequest): number {
  let bytes = (raw.url ?? '').length;
  for (const part of raw.rawHeaders) bytes += part.length + 2;
  return bytes + Math.max(bytesOf(body) ?? 0, Number(headers['content-length'] ?? 0) || 0);
}

/** `undefined` for a body that is sent piece by piece. */
function bytesOf(content: unknown): number | undefined {
  if (content === undefined || content === null) return 0;
  if (typeof content === 'string') return Buffer.byteLength(content);
  return content instanceof Uint8Array ? content.length : undefined;
}

function exceeded(seconds: number): RequestError {
  const message = `A quota of requests or bytes is used up. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}

/**
 * The state that outlives requests: in the memory of this process if it serves alone, else shared
 * with the other processes.
 * @param joined what this process is part of; `undefined` if it serves alone
 * @throws Error for a database in memory, which several processes cannot share
 */
async function openStores(
  joined: AppState | undefined,
  limits: StoreLimits,
  database: Database,
): Promise<ServerStores> {
  const { foldText } = database.dialect;
  if (joined === undefined) return memoryStores(limits, foldText);
  if (database.isOfOneProcess === true) {
    throw new Error(
      `PROCESSES is ${joined.processes}, and DATABASE_URL names a database in memory, which one process alone can have. Name a file, or run one process.`,
    );
  }
  return sharedStores(joined, limits, foldText);
}

/**
 * Stores for a process that is one of several of a server, in files that all of them have open.
 * @param foldText the form in which the database compares texts
 * @throws Error if the package better-sqlite3 is missing, or the files cannot be opened
 */
async function sharedStores(
  joined: AppState,
  limits: StoreLimits,
  foldText: Fold,
): Promise<ServerStores> {
  const sharing = await openSharing(joined);
  return {
    clock: sharing.clock,
    sessions: new SharedSessionStore(sharing),
    sets: new SharedEntitySetStore(sharing, limits.entitySetMemory, joined.processes),
    locks: new SharedLockTable(sharing, limits.maxLocksPerSession, foldText),
    rates: new SharedRates(new RateTable(sharing.state), serverRates),
    sharing,
    close: () => {
      sharing.generations.close();
      sharing.state.close();
    },
  };
}
