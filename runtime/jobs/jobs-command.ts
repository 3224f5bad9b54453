import { parseArgs, stripVTControlCharacters } from 'node:util';
import type { Database } from '../dialect/database.js';
import { type CommandOptions, commandOpening, openDatabase } from '../http/database-plugin.js';
import { nearestName } from '../protocol/names.js';
import { JobQueue, type JobState, type ListedJob } from './job-queue.js';

const usage = `Usage: npm run jobs [-- <command>]

Shows the jobs in the database that DATABASE_URL names: those that wait, those that run, and the
dead ones, which have failed for good.

  list [<name>]       prints the jobs, with their last errors; the default
  show <id>           prints one job, with its parameters
  retry <id|name>     lets a job run now, or all dead jobs of a name, with all retries
  delete <id>         deletes a job that does not run

  -h, --help          prints this

Exit codes: 0 done, 1 refused, or the database cannot be used, 2 the command line is wrong.
`;

interface JobsOptions extends CommandOptions {
  /** Names of the jobs of the model. */
  readonly names: readonly string[];
}

/** A mistake in the command line. */
class UsageError extends Error {}

/** @returns what was done, in words */
type Verb = (queue: JobQueue, words: readonly string[]) => Promise<string>;

/** `npm run jobs`: lists jobs, and repeats or deletes them. */
export async function jobsCommand(options: JobsOptions): Promise<void> {
  try {
    await run(options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${message}\n${error instanceof UsageError ? `\n${usage}` : ''}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

async function run(options: JobsOptions): Promise<void> {
  const { isHelp, words } = commandLine();
  if (isHelp) {
    process.stdout.write(usage);
    return;
  }
  const [verb = 'list', ...rest] = words;
  const work = verbOf(verb, rest, options.names);
  const database = await open(options);
  try {
    process.stdout.write(await work(new JobQueue(database), rest));
  } finally {
    await database.executor.close();
  }
}

/** Opens the database as it is: a command that lists something migrates nothing. */
function open(options: JobsOptions): Promise<Database> {
  const opening = commandOpening(options, (line) => process.stderr.write(`${line}\n`));
  return openDatabase({ ...opening, environment: { ...opening.environment, MIGRATE: 'off' } });
}

function commandLine(): { readonly isHelp: boolean; readonly words: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
    });
    return { isHelp: values.help, words: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function verbOf(verb: string, words: readonly string[], names: readonly string[]): Verb {
  const [word, ...others] = words;
  if (others.length > 0) throw new UsageError(`${verb} takes one word at most.`);
  switch (verb) {
    case 'list':
      return (queue) => listed(queue, names, word);
    case 'show': {
      const id = idOf(verb, word);
      return (queue) => shown(queue, names, id);
    }
    case 'retry':
      if (word === undefined) throw new UsageError('retry takes the ID of a job, or a name.');
      return (queue) =>
        isId(word) ? retried(queue, Number(word)) : allRetried(queue, names, word);
    case 'delete': {
      const id = idOf(verb, word);
      return (queue) => deleted(queue, id);
    }
    default: {
      const near = nearestName(verb, ['list', 'show', 'retry', 'delete']);
      const hint = near === undefined ? '' : ` Did you mean ${near}?`;
      throw new UsageError(`There is no command ${verb}.${hint}`);
    }
  }
}

function isId(word: string): boolean {
  return /^\d{1,15}$/.test(word);
}

function idOf(verb: string, word: string | undefined): number {
  if (word !== undefined && isId(word)) return Number(word);
  throw new UsageError(`${verb} takes the ID of a job, which npm run jobs lists.`);
}

/** The most jobs of one state that are listed. */
const mostListed = 50;

const states = ['running', 'waiting', 'dead'] as const satisfies readonly JobState[];

async function listed(
  queue: JobQueue,
  names: readonly string[],
  name: string | undefined,
): Promise<string> {
  const counts = await queue.counts(name);
  const blocks = [`${states.map((each) => `${each} ${counts[each]}`).join(', ')}\n`];
  for (const state of states) {
    const jobs = await queue.list(state, mostListed, name);
    blocks.push(...jobs.map((job) => line(job, names)));
    const more = counts[state] - jobs.length;
    if (more > 0) blocks.push(`… and ${more} more ${state} ones\n`);
  }
  return blocks.join('');
}

function line(job: ListedJob, names: readonly string[]): string {
  const remark = remarkOf(job, names);
  const error = remark === '' ? '' : `  ${remark}`;
  return `${job.id}  ${job.name}  ${job.state}${timeOf(job)}, attempt ${job.attempt}${error}\n`;
}

/** Why the job does not run, or its last error, in one line. */
function remarkOf({ name, error, state }: ListedJob, names: readonly string[]): string {
  const unknown = `The model has no job ${name}, so no server of it runs this one.`;
  const isLeft = !names.includes(name) && state !== 'running';
  return [isLeft ? unknown : '', printable(error ?? '')].filter((each) => each !== '').join(' ');
}

function timeOf({ state, dueIn }: ListedJob): string {
  if (state !== 'waiting' || dueIn === undefined || dueIn <= 0) return '';
  return ` for ${Math.ceil(dueIn / 1000)} s`;
}

async function shown(queue: JobQueue, names: readonly string[], id: number): Promise<string> {
  const job = await queue.find(id);
  if (job === undefined) throw unknownId(id);
  return `${line(job, names)}${printable(job.params)}\n`;
}

async function retried(queue: JobQueue, id: number): Promise<string> {
  if (await queue.retry(id)) return `The job ${id} runs as soon as a server has time.\n`;
  throw await refusal(queue, id);
}

async function allRetried(
  queue: JobQueue,
  names: readonly string[],
  name: string,
): Promise<string> {
  const count = await queue.retryDead(name);
  if (count > 0) return `Dead jobs ${name} that run again: ${count}.\n`;
  const near = names.includes(name) ? undefined : nearestName(name, names);
  throw new Error(
    `There is no dead job ${name}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
  );
}

async function deleted(queue: JobQueue, id: number): Promise<string> {
  if (await queue.delete(id)) return `The job ${id} is deleted.\n`;
  throw await refusal(queue, id);
}

async function refusal(queue: JobQueue, id: number): Promise<Error> {
  if ((await queue.find(id)) === undefined) return unknownId(id);
  return new Error(`The job ${id} runs now: try again when it has ended.`);
}

function unknownId(id: number): Error {
  return new Error(`There is no job ${id}: it has run, or was deleted.`);
}

/** A text that cannot change what a terminal shows, in one line. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\s*\p{Cc}+\s*/gu, ' ');
}
