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
 * What `#runtime/permissions` adds to a server whose sessions have different rights: logins, bearer
 * tokens, privileges and views of the model. Other servers do not contain its code, so everything
 * else knows it only by these types.
 */
export interface ServedPermissions {
  /** The declarations of the model; none for a model without roles. */
  readonly privileges: PrivilegeTable | undefined;
  /** None if bearer tokens are not accepted. */
  readonly tokens: BearerTokens | undefined;
  /** None if nobody can log in. */
  loginsOf(stores: LoginStores, calls: Calls): LoginAttempts | undefined;
  /** Refuses guests below `/rest`; none if they may do something there. */
  readonly requireLogin: ((app: FastifyInstance, sessions: RequestSessions) => void) | undefined;
  viewed(parts: ViewParts): ServedViews;
}

export type LoginStores = Pick<ServerStores, 'clock' | 'state'>;

/** What the views of a model are made from. */
export interface ViewParts {
  readonly definitions: readonly DataclassDefinition[];
  /** Of the datastore and of singletons. */
  readonly functions: readonly FunctionDefinition[];
  readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;
  /** Makes what the services of linked dataclasses share. */
  readonly makeContext: MakeContext;
  /** None if no dataclass has `restrict`. */
  readonly restricting: Restricting | undefined;
}

/** Asks which entities sessions may see. */
export interface Restricting {
  readonly calls: Calls;
  readonly restrictions: SessionRestrictions;
}

/** Answers requests within what their session may see of the model. */
export interface ServedViews {
  /** The handlers of a dataclass. */
  handlers(dataclass: string): DataclassHandlers;
  /** The catalog that the session of a request sees. */
  catalogOf(
    request: FastifyRequest,
    reply: FastifyReply,
    input: Omit<ConstructorParameters<typeof Catalog>[0], 'definitions'>,
  ): Pending<Catalog>;
  /** A call of a session, which resolves the restrictions of the session. */
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
   * Refuses a call of a function for which the session has no privilege.
   * @param shown the function as a client calls it, such as `Company.hire`
   * @throws RequestError 401 or 403 with 1561
   */
  readonly requireExecution: (definition: FunctionDefinition, shown: string) => void;
}

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
