import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CompleteAnswer } from '../access/ambient-executor.js';
import type { Calls, SessionRestrictions } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import type { Database } from '../dialect/database.js';
import type { Pending } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { Lifecycle } from '../entity/surroundings.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { ComputedRequests } from '../query/computed-requests.js';
import type { DataclassHandlers } from './dataclass-handlers.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Only where the model has class code. */
    readonly classCode: ServedClasses;
  }
}

/**
 * What `#runtime/class` brings to a server whose model has class code: the users' classes, and what runs their events and
 * accessors and asks them what sessions may see. Other servers do not carry its code, so everything else knows it by these
 * types alone.
 */
export interface ServedClasses {
  readonly registry: ClassRegistry;
  /** The server's database, which takes part in the transaction of the code that asks. */
  readonly database: Database;
  /** Makes what runs events and setters; none where the model declares none. */
  readonly lifecycle: ((host: ClassHost) => Lifecycle) | undefined;
  /** None where class code computes no attributes. */
  readonly computed: ServedAccessors | undefined;
  /** None where no dataclass restricts sessions. */
  readonly restricting: ServedRestrictions | undefined;
}

/** Runs the accessors of computed attributes. */
export interface ServedAccessors {
  /** @param hostOf gives the classes, which are made later, when the first request comes */
  requests(hostOf: () => ClassHost | undefined): ComputedRequests;
  /** What puts the values of getters into answers. */
  readonly completing: (host: ClassHost) => CompleteAnswer;
  /** Handlers whose class code knows the session that it runs for. */
  inCalls(handlers: DataclassHandlers, calls: Calls, sessionOf: SessionOf): DataclassHandlers;
}

export type SessionOf = (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;

/** Asks `restrict` of the users' dataclass classes which entities sessions may see. */
export interface ServedRestrictions {
  /** What the restrictions of the call make of a statement, for what is remembered of its answer. */
  readonly taken: (statement: Statement) => Pending<readonly SqlValue[]>;
  by(host: ClassHost): SessionRestrictions;
}

/** @throws Error where `app.ts` registers no class code, and the model needs it */
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
