import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { work } from './places.js';
import { plot } from './plot.js';
import type { Summary } from './report.js';

/** What a run of the bench measured, as it is kept. */
export interface Result {
  /** Version of Node that the servers ran on. */
  readonly node: string;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  readonly results: readonly Summary[];
}

const file = join(work, 'result.json');

export function saveResult(result: Result): void {
  mkdirSync(work, { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  writeFileSync(join(work, 'result.svg'), plot(result));
}

/** @throws Error when there is none yet */
export function readResult(path = file): Result {
  return JSON.parse(readFileSync(path, 'utf8')) as Result;
}
