import { parseArgs } from 'node:util';
import { type BenchRequest, requests } from './requests.js';

export interface Options {
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** Employees in the database. */
  readonly rows: number;
  readonly requests: readonly BenchRequest[];
  /** A major version of Node other than the one that runs the bench. */
  readonly node: string | undefined;
}

/** @throws Error that names the option which cannot be used */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      rows: { type: 'string', default: '100000' },
      only: { type: 'string' },
      node: { type: 'string' },
    },
  });
  return {
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    rows: positive('rows', values.rows),
    requests:
      values.only === undefined ? requests.filter((each) => each.isUsual) : named(values.only),
    node: values.node === undefined ? undefined : String(positive('node', values.node)),
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(`--${option} is ${text}; it must be a positive whole number.`);
  }
  return value;
}

function named(list: string): BenchRequest[] {
  return list.split(',').map((name) => {
    const found = requests.find((each) => each.name === name);
    if (found === undefined) {
      throw new Error(`--only: ${name} is none of ${requests.map((each) => each.name).join()}.`);
    }
    return found;
  });
}
