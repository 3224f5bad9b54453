import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { ScopeExecutor } from '../access/scope-executor.js';
import type { ClassRegistry } from '../class/objects/registry.js';
import { completingExecutor } from '../class/hooks/computed-values.js';
import { classEvents } from '../class/hooks/events.js';
import { Restrictions } from '../class/hooks/restrictions.js';
import { RequestResolver } from '../class/hooks/request-resolver.js';
import type { ServedClasses } from './datastore-plugin.js';

/**
 * Stack frames that errors keep: the runtime has more than Node's 10 between class code and what
 * refuses it, and the log must name the line of the class code.
 */
const stackDepth = 50;

interface ClassCodeOptions {
  readonly classes: ClassRegistry;
}

/**
 * Makes `app.classCode`, which calls the users' classes when entities are read, saved and deleted.
 */
export const classCode = fastifyPlugin<ClassCodeOptions>(
  (app, { classes }, done) => {
    Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth);
    app.decorate('classCode', servedClasses(app, classes));
    done();
  },
  { name: 'drs-class-code', dependencies: ['drs-sessions'] },
);

function servedClasses(
  { definitions, scopes }: FastifyInstance,
  registry: ClassRegistry,
): ServedClasses {
  const isRestricted = definitions.some(({ restrict }) => restrict === true);
  const isComputed = definitions.some(({ attributes }) =>
    attributes.some(({ kind }) => kind === 'computed'),
  );
  const lifecycle = classEvents(definitions);
  return {
    registry,
    lifecycleOf: (host) => lifecycle?.(host),
    hooksOf: (host, { database, dataclasses, options, filters, statements }) => {
      const restrictions = isRestricted
        ? new Restrictions(host, dataclasses, database.dialect, filters, statements.unfiltered)
        : undefined;
      const executor = new ScopeExecutor(database.executor, scopes, {
        runsCode: isRestricted || isComputed || lifecycle !== undefined,
        restrictions,
      });
      return {
        executor,
        database: {
          ...database,
          executor: isComputed ? completingExecutor(executor, host) : executor,
        },
        lifecycle: lifecycle?.(host),
        computed: isComputed
          ? new RequestResolver(host, { database, options, filters })
          : undefined,
        restrictions,
      };
    },
  };
}
