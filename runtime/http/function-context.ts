import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import type { Pending } from '../dialect/pending.js';
import type { Singletons } from '../function/singletons.js';
import type { DataclassDefinition, FunctionDefinition } from '../protocol/definition.js';
import type { ServiceContext } from './service-context.js';

/** The model as a session sees it. */
export interface SeenModel {
  readonly context: ServiceContext;
  /**
   * Refuses a call that the session has no privilege for.
   * @param shown the function with its class, as `Company.hire`
   * @throws RequestError 401 or 403 with 1561
   */
  requireExecution(definition: FunctionDefinition, shown: string): void;
  /** The session that a function's code runs with. */
  actingOf(session: Session, definition: FunctionDefinition): Session;
}

/** What functions of all classes are called with. */
export interface FunctionContext {
  readonly host: ClassHost;
  readonly definitions: readonly DataclassDefinition[];
  readonly registry: ClassRegistry;
  readonly singletons: Singletons;
  readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;
  /** A call of a session, which can ask what it may see. */
  readonly callOf: (session: Session) => Call;
  readonly seenBy: (call: Call) => SeenModel;
}
