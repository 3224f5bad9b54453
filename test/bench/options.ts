import { parseArgs } from 'node:util';
import { type BenchRequest, requests } from './requests.js';

export type DatabaseKind = 'sqlite' | 'postgres';

export interface Options {
  readonly database: DatabaseKind;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** Employees in the databases; `undefined` for the default of each kind of request. */
  readonly rows: number | undefined;
  readonly requests: readonly BenchRequest[];
  /** A major version of Node other than the one that runs the bench. */
  readonly node: string | undefined;
  /** A built checkout of another version, whose server is also measured. */
  readonly before: string | undefined;
  /** Whether SAP CAP is installed and also measured. */
  readonly cap: boolean;
}

const scales: Readonly<Record<string, number>> = {
  '10k': 10_000,
  '100k': 100_000,
  '1m': 1_000_000,
  '10m': 10_000_000,
};

/** @throws Error that names the invalid option */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string', default: 'sqlite' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      scale: { type: 'string' },
      only: { type: 'string' },
      node: { type: 'string' },
      before: { type: 'string' },
      cap: { type: 'boolean', default: false },
    },
  });
  const database = databaseOf(values.database);
  if (values.cap && database !== 'sqlite') {
    throw new Error('--cap measures SAP CAP on SQLite; leave out --database.');
  }
  return {
    database,
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    rows: values.scale === undefined ? undefined : rowsOf('scale', values.scale),
    requests: values.only === undefined ? requests : named(values.only),
    node: values.node === undefined ? undefined : String(positive('node', values.node)),
    before: values.before,
    cap: values.cap,
  };
}

/** @throws Error for another name */
export function databaseOf(name: string): DatabaseKind {
  if (name === 'sqlite' || name === 'postgres') return name;
  throw new Error(`--database is ${name}; it must be sqlite or postgres.`);
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(`--${option} is ${text}; it must be a positive whole number.`);
  }
  return value;
}

/** A named scale, or a number of employees. @throws Error for anything else */
export function rowsOf(option: string, text: string): number {
  const rows = scales[text.toLowerCase()];
  if (rows !== undefined) return rows;
  if (/^\d+$/.test(text)) return positive(option, text);
  throw new Error(
    `--${option} is ${text}; it must be ${Object.keys(scales).join(', ')} or a number of employees.`,
  );
}

/** `R10` also selects `R10.or` and `R10.except`. */
function named(list: string): BenchRequest[] {
  return list.split(',').flatMap((name) => {
    const found = requests.filter((each) => each.name === name || each.name.startsWith(`${name}.`));
    if (found.length > 0) return found;
    throw new Error(`--only: ${name} is none of ${requests.map((each) => each.name).join()}.`);
  });
}
