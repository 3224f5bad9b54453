import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { ambientDatabase } from '../class/make-class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import { CallValueBinder } from '../class-code/call-values.js';
import { ComputedValues } from '../class-code/computed-values.js';
import { classEvents } from '../class-code/events.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { AppState } from '../shared-state/joined-state.js';
import { restrictingBy } from './asked-restrictions.js';
import { computedRequests, handlersInCall } from './computed-attributes.js';
import type { ServedAccessors, ServedClasses } from './served-classes.js';

/**
 * Frames of a stack that errors keep: the runtime has more than Node's 10 between class code and what refuses it, and the log has
 * to name the line of the class code.
 */
const stackDepth = 50;

export interface ClassCodeOptions {
  readonly classes: ClassRegistry;
}

/** Makes `app.classCode`: what calls the users' classes when entities are read, saved and deleted. */
export const classCode = fastifyPlugin<ClassCodeOptions>(
  (app, { classes }, done) => {
    const { joined } = app.setup;
    if (joined !== undefined) {
      const problem = unsharedSingletons(classes, joined);
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
  { processes }: AppState,
): Error | undefined {
  const ofSessions = Object.entries(singletons)
    .filter(([, { scope }]) => scope === 'session')
    .map(([name]) => name);
  if (ofSessions.length === 0) return undefined;
  return new Error(
    `PROCESSES is ${processes}, and the model has singletons of sessions (${ofSessions.join(', ')}), whose instances live in one process. Keep what they hold in session.storage, or run one process.`,
  );
}
