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
 * What `#runtime/class` adds to a server whose model has class code: it runs the users' events and
 * accessors, and asks their classes what sessions may see. Other servers do not contain its code,
 * so everything else knows it only by these types.
 */
export interface ServedClasses {
  readonly registry: ClassRegistry;
  /** The server's database, which takes part in the transaction of the calling code. */
  readonly database: Database;
  /** Runs events and setters; none if the model declares none. */
  readonly lifecycle: ((host: ClassHost) => Lifecycle) | undefined;
  /** None if class code computes no attributes. */
  readonly computed: ServedAccessors | undefined;
  /** None if no dataclass has `restrict`. */
  readonly restricting: ServedRestrictions | undefined;
}

/** Runs the accessors of computed attributes. */
export interface ServedAccessors {
  /** @param hostOf returns the classes, which are made later, when the first request comes */
  requests(hostOf: () => ClassHost | undefined): ComputedRequests;
  /** Puts the values of getters into answers. */
  readonly completing: (host: ClassHost) => CompleteAnswer;
  /** Handlers whose class code knows its session. */
  inCalls(handlers: DataclassHandlers, calls: Calls, sessionOf: SessionOf): DataclassHandlers;
}

export type SessionOf = (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;

/** Asks `restrict` of the users' dataclass classes which entities sessions may see. */
export interface ServedRestrictions {
  /** The restrictions of the call on a statement, by which its answer can be cached. */
  readonly taken: (statement: Statement) => Pending<readonly SqlValue[]>;
  by(host: ClassHost): SessionRestrictions;
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
