import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { ambientDatabase } from '../class/make-class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import { CallValueBinder } from '../class-code/call-values.js';
import { ComputedValues } from '../class-code/computed-values.js';
import { classEvents } from '../class-code/events.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { ServedAccessors, ServedClasses, SessionOf } from './served-classes.js';
import type { Calls, SessionRestrictions } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { SettledRequests } from '../class-code/settled-requests.js';
import type { ComputedRequests } from '../query/computed-requests.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { type Sent, sentBy } from './reply.js';
import {
  type AskedFilter,
  type AskRestriction,
  RestrictionError,
  Restrictions,
} from '../class-code/restrictions.js';
import { paramsOf } from '../class/selection-values.js';
import { failureOf } from '../class/failure.js';

/**
 * Stack frames that errors keep: the runtime has more than Node's 10 between class code and what
 * refuses it, and the log must name the line of the class code.
 */
const stackDepth = 50;

export interface ClassCodeOptions {
  readonly classes: ClassRegistry;
}

/**
 * Makes `app.classCode`, which calls the users' classes when entities are read, saved and deleted.
 */
export const classCode = fastifyPlugin<ClassCodeOptions>(
  (app, { classes }, done) => {
    const { processes } = app.setup;
    if (processes > 1) {
      const problem = unsharedSingletons(classes, processes);
      if (problem !== undefined) {
        done(problem);
        return;
      }
    }
    Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth);
    app.decorate('classCode', servedClasses(app, classes));
    done();
  },
  { name: 'drs-class-code', dependencies: ['drs-sessions'] },
);

function servedClasses(app: FastifyInstance, registry: ClassRegistry): ServedClasses {
  const { database, definitions, calls } = app;
  const isRestricted = definitions.some(({ restrict }) => restrict === true);
  const binder = isRestricted ? new CallValueBinder(() => calls.current().restrictions) : undefined;
  const bound =
    binder === undefined ? database : { ...database, executor: binder.executor(database.executor) };
  return {
    registry,
    database: ambientDatabase(bound, calls, binder?.transaction.bind(binder)),
    lifecycle: classEvents(definitions),
    computed: hasComputed(definitions) ? accessors : undefined,
    restricting:
      binder === undefined
        ? undefined
        : { taken: (statement) => binder.taken(statement), by: restrictingBy },
  };
}

const accessors: ServedAccessors = {
  requests: computedRequests,
  completing: (host) => {
    const values = new ComputedValues(host);
    return (...given) => values.fill(...given);
  },
  inCalls: handlersInCall,
};

/** Whether class code computes attributes of the model. */
function hasComputed(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) => attributes.some(({ kind }) => kind === 'computed'));
}

/** Singletons of sessions cannot be shared by several processes. */
function unsharedSingletons(
  { singletons }: ClassRegistry,
  processes: number,
): Error | undefined {
  const ofSessions = Object.entries(singletons)
    .filter(([, { scope }]) => scope === 'session')
    .map(([name]) => name);
  if (ofSessions.length === 0) return undefined;
  return new Error(
    `PROCESSES is ${processes}, and the model has singletons of sessions (${ofSessions.join(', ')}), whose instances live in one process. Keep what they hold in session.storage, or run one process.`,
  );
}

/**
 * Resolves requests through class code; the classes are created later.
 * @param hostOf returns them, when the first request comes
 */
function computedRequests(hostOf: () => ClassHost | undefined): ComputedRequests {
  let requests: SettledRequests | undefined;
  return {
    settle(request) {
      if (requests === undefined) {
        const host = hostOf();
        if (host === undefined) throw new Error('The classes of the model are not given.');
        requests = new SettledRequests(host);
      }
      return requests.settle(request);
    },
  };
}

/** Handlers whose class code knows its session: a read runs accessors. */
function handlersInCall(
  handlers: DataclassHandlers,
  calls: Calls,
  sessionOf: SessionOf,
): DataclassHandlers {
  const reading =
    <Q extends FastifyRequest>(read: (request: Q, reply: FastifyReply) => void) =>
    (request: Q, reply: FastifyReply): void => {
      const run = (session: Session): void => {
        calls.run({ session }, () => {
          read(request, reply);
        });
      };
      const session = sessionOf(request, reply);
      if (!(session instanceof Promise)) run(session);
      else {
        session.then(run).catch((error: unknown) => {
          reply.send(error);
        });
      }
    };
  const writing =
    <Q extends FastifyRequest>(write: (request: Q, reply: FastifyReply) => Sent) =>
    (request: Q, reply: FastifyReply): Sent =>
      sentBy(reply, sessionOf(request, reply), (session) =>
        calls.run({ session }, () => write(request, reply)),
      );
  return {
    readCollection: reading((request, reply) => {
      handlers.readCollection(request, reply);
    }),
    readEntity: reading((request, reply) => {
      handlers.readEntity(request, reply);
    }),
    readByValue: reading((request, reply) => {
      handlers.readByValue(request, reply);
    }),
    readEntitySet: reading((request, reply) => {
      handlers.readEntitySet(request, reply);
    }),
    writeCollection: writing((request, reply) => handlers.writeCollection(request, reply)),
    writeEntity: writing((request, reply) => handlers.writeEntity(request, reply)),
    writeAttributes: writing((request, reply) => handlers.writeAttributes(request, reply)),
    writeEntitySet: writing((request, reply) => handlers.writeEntitySet(request, reply)),
  };
}

/** Asks the users' dataclass classes which entities a session may see. */
function restrictingBy(host: ClassHost): SessionRestrictions {
  const { calls, context } = host;
  const { dataclasses, database, filters } = context;
  const { dialect } = database;
  const restrictions = new Restrictions(dataclasses, dialect, filters, asked(host));
  calls.restrictions = restrictions;
  return restrictions;
}

/** `restrict` runs as the server itself: what it reads is not restricted. */
function asked(host: ClassHost): AskRestriction {
  return (dataclass, session) => {
    const { instance } = host.codeOf(dataclass);
    const failed = (thrown: unknown): never => {
      throw failureOf(`${dataclass}.restrict`, thrown);
    };
    let returned: unknown;
    try {
      const ask = restrictOf(dataclass, instance);
      // While a transaction is open, a database with one connection runs no other reads.
      returned = host.calls.asServerWithin(() => ask(session));
    } catch (thrown) {
      return failed(thrown);
    }
    if (!isThenable(returned)) return askedFilter(dataclass, returned);
    return Promise.resolve(returned)
      .catch(failed)
      .then((each) => askedFilter(dataclass, each));
  };
}

function restrictOf(dataclass: string, instance: object): (session: Session) => unknown {
  if (!('restrict' in instance) || typeof instance.restrict !== 'function') {
    throw new Error(`The class ${dataclass} has no restrict(session).`);
  }
  return instance.restrict.bind(instance) as (session: Session) => unknown;
}

/**
 * Only null grants access to all entities; a function that forgets to return something does not.
 */
function askedFilter(dataclass: string, returned: unknown): AskedFilter {
  if (returned === null) return null;
  if (typeof returned === 'string') return { text: returned, params: undefined };
  try {
    const { filter, values } = parts(returned);
    return { text: filter, params: paramsOf(values) };
  } catch (error) {
    throw new RestrictionError(dataclass, error);
  }
}

function parts(returned: unknown): {
  readonly filter: string;
  readonly values: readonly unknown[];
} {
  if (typeof returned === 'object' && returned !== null && 'filter' in returned) {
    const { filter } = returned;
    const values = 'values' in returned ? (returned.values ?? []) : [];
    if (typeof filter === 'string' && Array.isArray(values)) return { filter, values };
  }
  throw new Error('expected a filter, { filter, values } with a list of values, or null');
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
