import type { FastifyInstance } from 'fastify';
import type { Calls } from '../access/call.js';
import { CallValueBinder } from '../access/call-values.js';
import type { ClassHost } from '../class/class-host.js';
import { ambientDatabase, type ClassParts, createClassHost } from '../class/make-class-host.js';
import { DataclassObject } from '../class/dataclass.js';
import { Datastore } from '../class/datastore.js';
import { Entity } from '../class/entity.js';
import type { ClassRegistry, DataclassClasses } from '../class/registry.js';
import { EntitySelection } from '../class/selection.js';
import type { EntityTypes } from '../class/types.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { Database } from '../dialect/database.js';
import type { AppState } from '../shared-state/joined-state.js';

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

interface PreparedParts {
  readonly registry: ClassRegistry | undefined;
  readonly database: Database;
  readonly calls: Calls;
  /** Whether a dataclass restricts sessions. */
  readonly isRestricted: boolean;
  /** Where this process is one of several. */
  readonly joined: AppState | undefined;
}

/**
 * Prepares class code, before anything has got hold of the database.
 * @throws Error for singletons of sessions, which several processes cannot share
 */
export function serverClasses(parts: PreparedParts): ServerClasses | undefined {
  const { registry, database, calls, isRestricted, joined } = parts;
  if (registry === undefined) {
    if (isRestricted)
      throw new Error('A dataclass restricts sessions, and its class is not given.');
    return undefined;
  }
  if (joined !== undefined) refuseSingletonsOfSessions(registry, joined);
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth);
  const binder = isRestricted ? new CallValueBinder(() => calls.current().restrictions) : undefined;
  const { executor } = database;
  const bound = { ...database, executor: binder?.executor(executor) ?? executor };
  return { calls, database: ambientDatabase(bound, calls, binder), registry, binder };
}

function refuseSingletonsOfSessions({ singletons }: ClassRegistry, { processes }: AppState): void {
  const ofSessions = Object.entries(singletons)
    .filter(([, { scope }]) => scope === 'session')
    .map(([name]) => name);
  if (ofSessions.length === 0) return;
  throw new Error(
    `PROCESSES is ${processes}, and the model has singletons of sessions (${ofSessions.join(', ')}), whose instances live in one process. Keep what they hold in session.storage, or run one process.`,
  );
}

/** Makes the objects of class code. */
export function openHost(app: FastifyInstance, parts: ClassParts): ClassHost {
  const host = createClassHost(parts);
  app.setup.closeAtEnd(() => host.afterCommit.end());
  return host;
}

/** The classes of a model for which nobody writes code: what the emitted types declare is made when it is asked for. */
export function plainClasses(definitions: readonly DataclassDefinition[]): ClassRegistry {
  const classes = (): DataclassClasses => ({
    dataclass: class extends DataclassObject<EntityTypes> {},
    entity: class extends Entity<EntityTypes> {},
    selection: class extends EntitySelection<EntityTypes> {},
  });
  return {
    datastore: class extends Datastore {},
    datastoreFunctions: [],
    dataclasses: Object.fromEntries(definitions.map(({ name }) => [name, classes()])),
    singletons: {},
  };
}
