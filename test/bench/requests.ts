import { type ChangeKind, changePath } from './changes.js';
import { cities } from './data/names.js';
import type { Random } from './data/random.js';

/** A kind of request that is measured. */
export interface BenchRequest {
  readonly name: string;
  readonly title: string;
  /** Measured when nothing else is asked for. */
  readonly isUsual: boolean;
  /** Employees are changed, instead of something being read. */
  readonly change?: ChangeKind;
  /** Another address at each call. */
  readonly path: (random: Random, rows: number) => string;
}

/** Pages are taken from the beginning: how deep pages cost is another question. */
const pages = 20;

export const requests: readonly BenchRequest[] = [
  {
    name: 'R1',
    title: 'one employee by key',
    isUsual: true,
    path: (random, rows) => `/rest/Employee(${1 + random.below(rows)})`,
  },
  {
    name: 'R2',
    title: 'page of 100 employees',
    isUsual: true,
    path: (random) => `/rest/Employee?$skip=${100 * random.below(pages)}&$top=100`,
  },
  {
    name: 'R3',
    title: 'employees of a city, by last name, 40 of them, and their number',
    isUsual: true,
    path: (random) =>
      `/rest/Employee?$filter=${quoted(`city = '${random.pick(cities)}'`)}&$orderby=${quoted('lastName')}&$top=40`,
  },
  {
    name: 'R4',
    title: 'page of 40 employees with their employers',
    isUsual: true,
    path: (random) => `/rest/Employee?$skip=${40 * random.below(pages)}&$top=40&$expand=employer`,
  },
  {
    name: 'R5',
    title: 'page of 20 companies with their staff, 100 each',
    isUsual: true,
    path: (random) => `/rest/Company?$skip=${20 * random.below(pages)}&$top=20&$expand=staff`,
  },
  {
    name: 'R6',
    title: 'number, sum, average, least and greatest of all salaries',
    isUsual: true,
    path: () => '/rest/Employee/salary?$compute=$all',
  },
  {
    name: 'R7',
    title: 'change of two attributes of an employee, stamp checked',
    isUsual: true,
    change: 'update',
    path: () => changePath,
  },
  {
    name: 'R8',
    title: 'creation of 100 employees, all or none',
    isUsual: true,
    change: 'create',
    path: () => changePath,
  },
];

function quoted(text: string): string {
  return encodeURIComponent(`"${text}"`);
}
