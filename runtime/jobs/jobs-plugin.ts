import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { ClassContext } from '../class/objects/context.js';
import { graceMilliseconds } from '../http/stop.js';
import { readSetting } from '../protocol/environment.js';
import { nearestName } from '../protocol/names.js';
import type { EnqueueOptions, JobRegistry } from './job-code.js';
import { paramsText } from './job-params.js';
import { JobQueue } from './job-queue.js';
import { JobRunner } from './job-runner.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Only where the model has jobs. */
    readonly jobs: {
      /** Makes `enqueue` of a datastore. */
      enqueueOf(host: ClassContext): (...given: never) => Promise<number>;
    };
  }
}

interface JobOptions {
  readonly registry: JobRegistry;
}

/**
 * Gives datastores their `enqueue`, and runs jobs while the server listens: other programs, such as
 * `npm run seed`, only store them.
 */
export const jobs = fastifyPlugin<JobOptions>(
  (app, { registry }, done) => {
    const queue = new JobQueue(app.database);
    let limit: number;
    try {
      limit = readSetting(app.setup.environment, 'JOBS');
    } catch (error) {
      done(error as Error);
      return;
    }
    let runner: JobRunner | undefined;
    const wake = (): void => runner?.wake();
    app.decorate('jobs', { enqueueOf: (host) => enqueueOf(host, { registry, queue, wake }) });
    app.addHook('onListen', (listening) => {
      if (limit > 0) runner = runnerOf(app, { registry, queue, limit });
      listening();
    });
    app.addHook('preClose', (closing) => {
      runner?.stop();
      closing();
    });
    // It was added after the hooks of `src/main.ts`, and so runs before them.
    app.addHook('onClose', async () => runner?.end(graceMilliseconds));
    done();
  },
  { name: 'drs-jobs', dependencies: ['drs-sessions'] },
);

function runnerOf(
  app: FastifyInstance,
  parts: { readonly registry: JobRegistry; readonly queue: JobQueue; readonly limit: number },
): JobRunner {
  const datastore: unknown = Reflect.get(app, 'datastore');
  return new JobRunner({ ...parts, scopes: app.scopes, datastore, log: app.log });
}

interface EnqueueParts {
  readonly registry: JobRegistry;
  readonly queue: JobQueue;
  /** Called when a job is committed. */
  readonly wake: () => void;
}

/** See `Enqueue`, whose types depend on the model. */
type EnqueueAny = (name: string, params: unknown, options?: EnqueueOptions) => Promise<number>;

function enqueueOf(host: ClassContext, { registry, queue, wake }: EnqueueParts): EnqueueAny {
  const definitions = new Map(registry.map((each) => [each.name, each]));
  return async (name, params, options = {}) => {
    const definition = definitions.get(name);
    if (definition === undefined) throw unknownJob(name, [...definitions.keys()]);
    checkOptions(options);
    const statement = queue.insertion(name, await paramsText(definition, params), options);
    return host.writeAlone(async (scope) => {
      const { rows } = await scope.transaction.table(statement, []);
      scope.onOutcome((isKept) => {
        if (isKept) wake();
      });
      return Number(rows[0]?.[0]);
    });
  };
}

function checkOptions({ at, after }: EnqueueOptions): void {
  if (at !== undefined && Number.isNaN(at.getTime())) {
    throw new TypeError('The option at of ds.enqueue must be a valid Date.');
  }
  if (after !== undefined && !(after >= 0 && Number.isSafeInteger(Math.round(after * 1000)))) {
    throw new TypeError('The option after of ds.enqueue must be a number of seconds, at least 0.');
  }
  if (at !== undefined && after !== undefined) {
    throw new TypeError('ds.enqueue takes one of the options at and after, not both.');
  }
}

function unknownJob(name: string, known: readonly string[]): TypeError {
  const near = nearestName(name, known);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  return new TypeError(`The model has no job ${name}.${hint}`);
}
