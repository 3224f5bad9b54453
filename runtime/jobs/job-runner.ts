import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { FastifyBaseLogger } from 'fastify';
import type { RequestScopes } from '../access/request-scope.js';
import { settledWithin } from '../dialect/settled-within.js';
import { shortened } from '../protocol/names.js';
import type { JobDefinition, JobRegistry, JobRun } from './job-code.js';
import { readParams } from './job-params.js';
import { type HeldJob, type JobQueue, leaseMilliseconds } from './job-queue.js';

/** How often a server looks for jobs that others have stored. */
const pollMilliseconds = 1_000;

const renewMilliseconds = leaseMilliseconds / 3;

/** Minutes after which the log says that a job still runs. */
const longMinutes = 10;

const firstDelay = 1_000;
const longestDelay = 3_600_000;

/** Servers that fail together do not try again together. */
const mostJitter = 0.1;

/** Characters of an error that are stored with its job; the log has all of it. */
const longestError = 2_000;
const mostCauses = 5;

interface RunnerParts {
  readonly queue: JobQueue;
  readonly registry: JobRegistry;
  /** The most jobs at a time. */
  readonly limit: number;
  readonly scopes: RequestScopes;
  readonly datastore: unknown;
  readonly log: FastifyBaseLogger;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** A job that this process runs, until its lease expires. */
class Running {
  readonly abort = new AbortController();
  readonly startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** @param heldSince when the lease was asked for, in time of `performance.now()` */
  constructor(
    readonly job: HeldJob,
    heldSince: number,
  ) {
    this.hold(heldSince);
  }

  /** The lease lasts from then on: its end does not wait for the answer of a database. */
  hold(since: number): void {
    clearTimeout(this.#timer);
    const rest = since + leaseMilliseconds - performance.now();
    this.#timer = setTimeout(() => {
      this.lose();
    }, rest).unref();
  }

  lose(): void {
    this.abort.abort(new Error('The lease of the job has expired: another server may run it.'));
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Runs the jobs of one process, until it stops. */
export class JobRunner {
  readonly #holder = randomUUID();
  readonly #definitions: ReadonlyMap<string, JobDefinition>;
  readonly #names: readonly string[];
  readonly #running = new Map<number, Running>();
  readonly #works = new Set<Promise<void>>();
  readonly #looking: Promise<void>;
  readonly #renewal: NodeJS.Timeout;
  /** Set if something has happened since the last look. */
  #isWoken = false;
  #wake: (() => void) | undefined;
  /** When the stop began, in time of `performance.now()`. */
  #stoppedAt: number | undefined;
  #hasFailed = false;
  #isRenewing = false;
  /** Jobs of which the log says that they run for long. */
  readonly #reported = new Set<number>();

  constructor(private readonly parts: RunnerParts) {
    this.#definitions = new Map(parts.registry.map((each) => [each.name, each]));
    this.#names = [...this.#definitions.keys()];
    this.#looking = this.#look();
    this.#renewal = setInterval(() => void this.#renew(), renewMilliseconds).unref();
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Takes no more jobs, and aborts the signals of those that run. */
  stop(): void {
    if (this.#stoppedAt !== undefined) return;
    this.#stoppedAt = performance.now();
    this.wake();
    for (const { abort } of this.#running.values()) abort.abort(new Error('The server stops.'));
  }

  /**
   * Waits for running jobs.
   * @param grace milliseconds after the stop began; jobs that run then are left to their leases
   */
  async end(grace: number): Promise<void> {
    this.stop();
    const passed = performance.now() - (this.#stoppedAt ?? 0);
    await settledWithin(this.#idle(), Math.max(0, grace - passed));
    clearInterval(this.#renewal);
    for (const { job } of this.#running.values()) {
      this.parts.log.warn(
        `The job ${nameOf(job)} does not end: it runs again when its lease has expired.`,
      );
    }
  }

  #isStopping(): boolean {
    return this.#stoppedAt !== undefined;
  }

  async #idle(): Promise<void> {
    await this.#looking;
    await Promise.all(this.#works);
  }

  async #look(): Promise<void> {
    while (!this.#isStopping()) {
      const milliseconds = await this.#take().catch((error: unknown) => {
        // The next look may succeed; one line for each outage is enough.
        if (!this.#hasFailed) this.parts.log.warn({ err: error }, 'Jobs cannot be read.');
        this.#hasFailed = true;
        return pollMilliseconds;
      });
      await this.#pause(milliseconds);
    }
  }

  /** Takes jobs as far as there is room; returns how long to wait then. */
  async #take(): Promise<number> {
    const { queue, limit } = this.parts;
    const room = limit - this.#running.size;
    if (room <= 0) return pollMilliseconds;
    const dueIn = await queue.dueIn(this.#names);
    if (dueIn === undefined || dueIn > 0) {
      this.#hasFailed = false;
      return Math.min(dueIn ?? pollMilliseconds, pollMilliseconds);
    }
    const held = [...this.#running.keys()];
    const since = performance.now();
    const taken = await queue.take(this.#holder, this.#names, held, room);
    this.#hasFailed = false;
    for (const job of taken) this.#begin(job, since);
    // Others are taking what is due.
    return taken.length === 0 ? pollMilliseconds : 0;
  }

  async #pause(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#isWoken ? 0 : milliseconds);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#isWoken = false;
    this.#wake = undefined;
  }

  #begin(job: HeldJob, since: number): void {
    const running = new Running(job, since);
    this.#running.set(job.id, running);
    const work = this.#run(job, running.abort.signal).finally(() => {
      running.end();
      this.#running.delete(job.id);
      this.#reported.delete(job.id);
      this.#works.delete(work);
      this.wake();
    });
    this.#works.add(work);
  }

  /** Never rejects. */
  async #run(job: HeldJob, signal: AbortSignal): Promise<void> {
    const log = this.parts.log.child({ job: job.name, jobId: job.id, attempt: job.attempt });
    const definition = this.#definitions.get(job.name);
    // Only jobs of known names are taken.
    if (definition === undefined) return;
    try {
      const isKept = await this.#result(definition, job, signal, log);
      if (!isKept) log.warn(`Another server has taken the job ${nameOf(job)} meanwhile.`);
    } catch (err) {
      log.error({ err }, `The end of the job ${nameOf(job)} is not stored: it runs again.`);
    }
  }

  /** Runs a job, and stores what has become of it; returns whether this server still had it. */
  async #result(
    definition: JobDefinition,
    job: HeldJob,
    signal: AbortSignal,
    log: FastifyBaseLogger,
  ): Promise<boolean> {
    const { queue } = this.parts;
    const { retries } = definition;
    if (this.#isStopping()) return queue.giveBack(this.#holder, job);
    const stored = (store: () => Promise<boolean>): Promise<boolean> =>
      whileHeld(store, signal, log);
    if (job.attempt > retries + 1) {
      const reason =
        'The server ended, or lost its database, before the end of the job was stored.';
      log.error(`The job ${nameOf(job)} is dead: ${reason}`);
      return stored(() => queue.fail(this.#holder, job, reason, undefined));
    }
    try {
      const { params } = await readParams(definition, job.params);
      const { id, attempt } = job;
      const run: JobRun = { id, attempt, ds: this.parts.datastore, log, signal };
      await this.parts.scopes.asServer(() => definition.run(params as never, run as never));
    } catch (err) {
      if (this.#isStopping()) return queue.giveBack(this.#holder, job);
      const delay = job.attempt > retries ? undefined : this.#delay(job.attempt);
      if (delay === undefined) log.error({ err }, `The job ${nameOf(job)} is dead.`);
      else {
        const seconds = Math.round(delay / 1_000);
        log.warn({ err }, `The job ${nameOf(job)} has failed, and runs again in ${seconds} s.`);
      }
      return stored(() => queue.fail(this.#holder, job, errorText(err), delay));
    }
    return stored(() => queue.remove(this.#holder, job));
  }

  #delay(attempt: number): number {
    const { random = Math.random } = this.parts;
    const delay = Math.min(firstDelay * 2 ** (attempt - 1), longestDelay);
    return delay * (1 + mostJitter * random());
  }

  async #renew(): Promise<void> {
    const all = [...this.#running.values()];
    // A database that does not answer gets no further renewals.
    if (all.length === 0 || this.#isRenewing) return;
    this.#isRenewing = true;
    const begin = performance.now();
    const ids = all.map(({ job }) => job.id);
    const kept = await this.parts.queue.renew(this.#holder, ids).catch(() => undefined);
    this.#isRenewing = false;
    for (const each of all) {
      if (kept?.includes(each.job.id) === true) each.hold(begin);
      else if (kept !== undefined) each.lose();
      this.#warnOfLong(each);
    }
  }

  /** Code that never ends keeps a place for ever. */
  #warnOfLong({ job, startedAt }: Running): void {
    const minutes = Math.floor((performance.now() - startedAt) / 60_000);
    if (minutes < longMinutes || this.#reported.has(job.id)) return;
    this.#reported.add(job.id);
    this.parts.log.warn(`The job ${nameOf(job)} runs for more than ${longMinutes} minutes.`);
  }
}

/** Repeats what stores the end of a job while the database does not take it, as long as the lease lasts. */
async function whileHeld(
  store: () => Promise<boolean>,
  signal: AbortSignal,
  log: FastifyBaseLogger,
): Promise<boolean> {
  for (;;) {
    try {
      return await store();
    } catch (err) {
      if (signal.aborted) throw err;
      log.warn({ err }, 'The end of a job cannot be stored now.');
      await sleep(pollMilliseconds);
    }
  }
}

function nameOf({ name, id }: HeldJob): string {
  return `${name} ${id}`;
}

/** An error with its causes as a text that each database can store. */
function errorText(error: unknown): string {
  const causes: string[] = [];
  for (let each = error; each !== undefined && causes.length < mostCauses;) {
    causes.push(each instanceof Error ? String(each) : inspect(each));
    each = each instanceof Error ? each.cause : undefined;
  }
  const text = Buffer.from(causes.join(': ')).toString().replaceAll('\0', '');
  return shortened(text, longestError);
}
