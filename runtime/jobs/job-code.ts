import type { FastifyBaseLogger } from 'fastify';
import type { ParameterDefinition } from '../protocol/definition.js';

/** When a job runs first; at once if neither is given. */
export interface EnqueueOptions {
  /** Not before this moment. */
  readonly at?: Date;
  /** Not before so many seconds from now. */
  readonly after?: number;
}

/**
 * The type of `ds.enqueue`. It stores a job in the transaction of the calling code, outside of any in one
 * of its own; the job runs when that is committed, and never if it is rolled back.
 * @returns the ID of the job, which `npm run jobs` lists
 * @throws TypeError if the parameters are not those that the model declares
 */
export type Enqueue<Jobs> = <Name extends keyof Jobs & string>(
  name: Name,
  params: Jobs[Name],
  options?: EnqueueOptions,
) => Promise<number>;

/** What the code of a job gets in addition to its parameters. */
export interface JobRun<Datastore = unknown> {
  /** As `ds.enqueue` returned it: the same in each attempt. */
  readonly id: number;
  /** Counted from 1. */
  readonly attempt: number;
  /** The entities of the model. The code may do everything with them. */
  readonly ds: Datastore;
  /** Its lines name the job. */
  readonly log: FastifyBaseLogger;
  /** Aborts if the server stops, or another one may run the job by now. */
  readonly signal: AbortSignal;
}

/** Does the work of a job. If it throws, or what it returns is rejected, the job runs again later. */
export type JobCode<Params, Datastore> = (params: Params, job: JobRun<Datastore>) => unknown;

/** A job that the model declares, with its code. */
export interface JobDefinition {
  readonly name: string;
  /** How often it runs again after it has failed. */
  readonly retries: number;
  readonly params: readonly ParameterDefinition[];
  readonly run: JobCode<never, never>;
}

export type JobRegistry = readonly JobDefinition[];
