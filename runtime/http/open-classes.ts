import type { FastifyInstance } from 'fastify';
import { Calls } from '../access/call.js';
import { CallValueBinder } from '../access/call-values.js';
import { systemSession } from '../access/system-session.js';
import type { ClassHost } from '../class/class-host.js';
import { ambientDatabase, type ClassParts, createClassHost } from '../class/make-class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import type { Database } from '../dialect/database.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The instance of the user's `DataStore`, for code outside of requests; only where the model has class code. */
    readonly datastore?: object;
  }
}

/** What a server has that runs class code; one that does not has nothing of it. */
export interface ServerClasses {
  readonly calls: Calls;
  /** The server's database, which takes part in the transaction of the code that asks. */
  readonly database: Database;
  readonly registry: ClassRegistry;
  /** Asks for statements what restricts the session of the call; none where no dataclass restricts sessions. */
  readonly binder: CallValueBinder | undefined;
}

/**
 * Frames of a stack that errors keep: the runtime has more than Node's 10 between class code and what refuses it, and the log has
 * to name the line of the class code.
 */
const stackDepth = 50;

/**
 * Prepares class code, before anything has got hold of the database.
 * @param isRestricted whether a dataclass restricts sessions
 */
export function serverClasses(
  registry: ClassRegistry | undefined,
  database: Database,
  isRestricted: boolean,
): ServerClasses | undefined {
  if (registry === undefined) {
    if (isRestricted)
      throw new Error('A dataclass restricts sessions, and its class is not given.');
    return undefined;
  }
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth);
  const calls = new Calls({ session: systemSession(), isServer: true });
  const binder = isRestricted ? new CallValueBinder(() => calls.current().restrictions) : undefined;
  const { executor } = database;
  const bound = { ...database, executor: binder?.executor(executor) ?? executor };
  return { calls, database: ambientDatabase(bound, calls, binder), registry, binder };
}

/** Makes the objects of class code. */
export function openClasses(
  app: FastifyInstance,
  classes: ServerClasses | undefined,
  parts: Omit<ClassParts, 'registry' | 'calls'>,
): ClassHost | undefined {
  if (classes === undefined) return undefined;
  const host = createClassHost({ ...parts, registry: classes.registry, calls: classes.calls });
  // Before the database is closed: hooks that are added later run first.
  app.addHook('onClose', () => host.afterCommit.end());
  app.decorate('datastore', host.datastore);
  return host;
}
