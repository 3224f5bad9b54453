import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Call, Calls, SessionRestrictions } from '../access/call.js';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import type { PrivilegeTable, Session } from '../access/session.js';
import type { Pending } from '../dialect/pending.js';
import type { DataclassDefinition, FunctionDefinition } from '../protocol/definition.js';
import { tokenSettings } from './settings.js';
import type { Catalog } from './catalog.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import type { RequestSessions } from './request-sessions.js';
import type { ServerStores } from './server-stores.js';
import type { ServiceContext } from './service-context.js';
import type { MakeContext } from './service-contexts.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Only where the model has roles, or dataclasses that restrict sessions. */
    readonly permissions: ServedPermissions;
  }
}

/**
 * What `#runtime/permissions` brings to a server whose sessions may not all do the same: logins, bearer tokens, privileges and
 * views of the model. Other servers do not carry its code, so everything else knows it by these types alone.
 */
export interface ServedPermissions {
  /** What the model declares; none for a model without roles. */
  readonly privileges: PrivilegeTable | undefined;
  /** None where no bearer tokens are taken. */
  readonly tokens: BearerTokens | undefined;
  /** None where nobody can log in. */
  loginsOf(stores: LoginStores, calls: Calls): LoginAttempts | undefined;
  /** Refuses guests on what is below `/rest`; none where they may do something there. */
  readonly requireLogin: ((app: FastifyInstance, sessions: RequestSessions) => void) | undefined;
  viewed(parts: ViewParts): ServedViews;
}

export type LoginStores = Pick<ServerStores, 'clock' | 'sharing'>;

/** What the views of a model are made of. */
export interface ViewParts {
  readonly definitions: readonly DataclassDefinition[];
  /** Of the datastore and of singletons. */
  readonly functions: readonly FunctionDefinition[];
  readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;
  /** What the services of linked dataclasses share. */
  readonly makeContext: MakeContext;
  /** None where no dataclass restricts sessions. */
  readonly restricting: Restricting | undefined;
}

/** Where it is asked which entities sessions may see. */
export interface Restricting {
  readonly calls: Calls;
  readonly restrictions: SessionRestrictions;
}

/** Answers requests by what their session may see of the model. */
export interface ServedViews {
  /** What answers the requests to a dataclass. */
  handlers(dataclass: string): DataclassHandlers;
  /** The catalog that the session of a request sees. */
  catalogOf(
    request: FastifyRequest,
    reply: FastifyReply,
    input: Omit<ConstructorParameters<typeof Catalog>[0], 'definitions'>,
  ): Pending<Catalog>;
  /** A call of a session, which can ask what restricts it. */
  callOf(session: Session): Call;
  /** What readers and writers for the session of a call share. */
  contextOf(call: Pick<Call, 'session'>): ServiceContext;
  /** What the session of a call sees now. */
  viewOf(call: Pick<Call, 'session'>): ServedView;
}

/** The model as a session sees it. */
export interface ServedView {
  readonly context: ServiceContext;
  /**
   * Refuses a call of a function that the session has no privilege for.
   * @param shown the function as a client calls it, `Company.hire` for one
   * @throws RequestError 401 or 403 with 1561
   */
  readonly requireExecution: (definition: FunctionDefinition, shown: string) => void;
}

/**
 * What limits the sessions of a server; `undefined` where all of them may do everything.
 * @throws Error where `app.ts` registers no permissions and the model needs them, or somebody is to log in where there are none
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
    throw new Error('The model has no roles, so that nobody logs in: leave out the option login.');
  }
  const { key, keysUrl } = tokenSettings(environment);
  if (key !== '' || keysUrl !== '') {
    throw new Error(
      'TOKEN_KEY or TOKEN_KEYS_URL is set, and the model has no roles, so that nobody logs in.',
    );
  }
  return undefined;
}
