import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { DatabaseKind } from './options.js';
import { root, work } from './places.js';
import { plot } from './plot.js';
import type { Summary } from './report.js';
import { requests } from './requests.js';

/** The stored result of a run of the bench. */
export interface Result {
  /** SQLite when absent. */
  readonly database?: DatabaseKind;
  /** Version of Node that the servers ran on. */
  readonly node: string;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  readonly results: readonly Summary[];
}

const measured = join(work, 'results');
const kept = 'test/bench/results';

/**
 * Stores a result as JSON and as a picture until the next run on the same version of Node. Results
 * of requests that the next run does not measure stay, if the measurements are comparable.
 */
export function saveResult(result: Result): void {
  mkdirSync(measured, { recursive: true });
  const major = /\d+/.exec(result.node)?.[0] ?? '';
  const kind = result.database === 'postgres' ? '-postgres' : '';
  const name = join(measured, `node${major}${kind}`);
  const whole = { ...result, results: inOrder([...result.results, ...earlier(name, result)]) };
  writeFileSync(`${name}.json`, `${JSON.stringify(whole, undefined, 2)}\n`);
  writeFileSync(`${name}.svg`, plot(whole));
}

function earlier(name: string, { rounds, seconds, results }: Result): readonly Summary[] {
  if (!existsSync(`${name}.json`)) return [];
  const before = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as Result;
  if (before.rounds !== rounds || before.seconds !== seconds) return [];
  const isNew = ({ request, rows }: Summary): boolean =>
    results.some((each) => each.request === request && each.rows === rows);
  return before.results.filter((each) => !isNew(each));
}

function inOrder(summaries: readonly Summary[]): readonly Summary[] {
  const names = requests.map(({ name }) => name);
  const place = ({ request }: Summary): number => names.indexOf(request);
  return [...summaries].sort((a, b) => place(a) - place(b) || a.rows - b.rows);
}

/**
 * Copies all results to where they are committed.
 * @returns those that are there now; those on SQLite and the newest Node come first
 */
export function keepResults(): readonly (Result & { readonly picture: string })[] {
  const folder = join(root, kept);
  mkdirSync(folder, { recursive: true });
  for (const file of existsSync(measured) ? readdirSync(measured) : []) {
    copyFileSync(join(measured, file), join(folder, file));
  }
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort((a, b) => Number(isPostgres(a)) - Number(isPostgres(b)) || (a < b ? 1 : -1))
    .map((file) => ({
      ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Result),
      picture: `results/${file.replace('.json', '.svg')}`,
    }));
}

function isPostgres(file: string): boolean {
  return file.includes('-postgres');
}
