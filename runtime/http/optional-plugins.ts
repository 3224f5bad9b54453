import type { FastifyInstance } from 'fastify';
import type { HeldBits } from '../access/bits.js';
import type { EndedUsers } from '../access/ended-users.js';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import type { RequestScope, RequestScopes } from '../access/request-scope.js';
import type { ScopeExecutor } from '../access/scope-executor.js';
import type { PrivilegeTable } from '../access/session.js';
import type { ClassContext } from '../class/objects/context.js';
import type { ClassRegistry } from '../class/objects/registry.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { Lifecycle, WriteRestrictions } from '../write/surroundings.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { ComputedRequests } from '../query/selection-request.js';
import type { ReadingContext } from '../query/reading-context.js';
import type { RequestSessions } from './request-sessions.js';
import type { ServerStores } from './server-stores.js';
import { tokenSettings } from './settings.js';

// Servers whose model needs no such plugin do not contain its code, so everything else knows it
// only by these types.

declare module 'fastify' {
  interface FastifyInstance {
    /** Only where the model has roles, or dataclasses that restrict sessions. */
    readonly permissions: ServedPermissions;
    /** Only where the model has class code. */
    readonly classCode: ServedClasses;
    /** Only where the model has audit. */
    readonly audit: ServedAudit;
    /** Only where the model has jobs. */
    readonly jobs: ServedJobs;
  }
}

/**
 * What `#runtime/permissions` adds to a server whose sessions have different rights: logins, bearer
 * tokens and privileges.
 */
export interface ServedPermissions {
  /** Undefined if logins do not say whose sessions end. */
  readonly ended: EndedUsers | undefined;
  /** The declarations of the model; none for a model without roles. */
  readonly privileges: PrivilegeTable | undefined;
  /** Undefined if bearer tokens are not accepted. */
  readonly tokens: BearerTokens | undefined;
  /** Undefined if nobody can log in. */
  loginsOf(stores: LoginStores, scopes: RequestScopes): LoginAttempts | undefined;
  /** Refuses guests below `/rest`; none if they may do something there. */
  readonly requireLogin: ((app: FastifyInstance, sessions: RequestSessions) => void) | undefined;
  /** What the privileges of sessions open. */
  readonly bits: HeldBits;
}

export type LoginStores = Pick<ServerStores, 'clock' | 'state'>;

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

/**
 * What `#runtime/class` adds to a server whose model has class code: it runs the users' events and
 * accessors, and asks their classes what sessions may see.
 */
export interface ServedClasses {
  readonly registry: ClassRegistry;
  /** Runs events and setters; none if the model declares none. */
  lifecycleOf(host: ClassContext): Lifecycle | undefined;
  /** @param model the whole model, on the database without class code */
  hooksOf(host: ClassContext, model: ClassCodeModel): CodeHooks;
}

/** What `#runtime/jobs` adds to a server whose model has jobs. */
export interface ServedJobs {
  /** Makes `enqueue` of a datastore. */
  enqueueOf(host: ClassContext): (...given: never) => Promise<number>;
}

interface ClassCodeModel extends Pick<
  ReadingContext,
  'database' | 'options' | 'filters' | 'statements'
> {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** The parts of reads and writes in which class code takes part. */
export interface CodeHooks {
  /** The server's database, which takes part in the transaction of the calling code. */
  readonly executor: ScopeExecutor;
  /** The database whose answers hold the values of getters, on {@link executor}. */
  readonly database: Database;
  readonly lifecycle: Lifecycle | undefined;
  /** Undefined if class code computes no attributes. */
  readonly computed: ComputedRequests | undefined;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: ServedRestrictions | undefined;
}

/** What `restrict` of the users' dataclass classes returns to the scopes of requests. */
export interface ServedRestrictions extends WriteRestrictions {
  /** What restricts a statement in the current scope, by which its answer can be cached. */
  keyOf(statement: Statement): Promise<readonly SqlValue[]>;
  /**
   * Resolves the restrictions of dataclasses that statements will read, before a transaction blocks
   * others; errors are reported by those statements.
   */
  resolveAhead(scope: RequestScope, dataclasses: readonly string[]): Promise<void>;
}

/** What `#runtime/audit` adds to a server that records changes. */
interface ServedAudit {
  /** The server's database, which records the changes of a request with its user. */
  readonly database: Database;
}

/** @throws Error if `app.ts` registers no audit, and the model needs it */
export function auditOf(app: FastifyInstance): ServedAudit | undefined {
  if (app.hasPlugin('drs-audit')) return app.audit;
  if (app.definitions.every(({ audit }) => audit === undefined)) return undefined;
  throw new Error(
    'The model has audit: register the plugin audit of #runtime/audit before datastore.',
  );
}

/** @throws Error if `app.ts` registers no class code, and the model needs it */
export function requireClassCode(definitions: readonly DataclassDefinition[]): void {
  const needs = definitions.some(
    ({ restrict, events = [], attributes }) =>
      restrict === true || events.length > 0 || attributes.some(({ kind }) => kind === 'computed'),
  );
  if (!needs) return;
  throw new Error(
    'The model has class code: register the plugin classCode of #runtime/class before datastore.',
  );
}
