import { type ChangeKind, changePath } from './changes.js';
import { cities } from './data/names.js';
import type { Random } from './data/random.js';
import type { SentRequest, ServiceName } from './load-job.js';
import { logIn, makeSets, walkToEnd } from './preparations.js';
import type { Server } from './server.js';
import type { VariantName } from './variants.js';

/** A measured kind of request. */
export interface BenchRequest {
  readonly name: string;
  readonly title: string;
  readonly variant: VariantName;
  /** The default number of employees in the database. */
  readonly rows: number;
  /** The number of concurrent requests. */
  readonly connections: number;
  /** The factor of the measuring time, for requests of which few are answered; 1 by default. */
  readonly times?: number;
  /** The change of employees, for requests that do not read. */
  readonly change?: ChangeKind;
  /** The format of changes; by default that of the protocol. */
  readonly service?: ServiceName;
  /** Prepares what the requests need, separately on each server. */
  readonly prepare?: (server: Server, rows: number) => Promise<Prepared>;
  /** Returns another request with each call. */
  readonly request: (random: Random, context: RequestContext) => SentRequest;
}

/** The result of the preparation of a server. */
export interface Prepared {
  readonly headers?: Readonly<Record<string, string>>;
  /** IDs of entity sets. */
  readonly sets?: readonly string[];
  /** Tokens of cursors. */
  readonly tokens?: readonly string[];
}

export interface RequestContext extends Prepared {
  readonly rows: number;
  /** An employee that the requests may read. */
  readonly key: (random: Random) => number;
}

/** Pages are near the beginning; deep pages are measured separately. */
const pages = 20;

const usual = { variant: 'plain', rows: 100_000, connections: 32 } as const;
const large = { variant: 'plain', rows: 1_000_000, connections: 4, times: 2 } as const;

const everyday: readonly BenchRequest[] = [
  {
    ...usual,
    name: 'R1',
    title: 'one employee by key',
    request: (random, { key }) => ({ path: `/rest/Employee(${key(random)})` }),
  },
  {
    ...usual,
    name: 'R2',
    title: 'page of 100 employees',
    request: (random) => ({ path: `/rest/Employee?$skip=${100 * random.below(pages)}&$top=100` }),
  },
  {
    ...usual,
    name: 'R3',
    title: 'employees of a city, by last name, 40 of them, and their number',
    request: (random) => ({
      path: `/rest/Employee?$filter=${ofCity(random)}&$orderby=${quoted('lastName')}&$top=40`,
    }),
  },
  {
    ...usual,
    name: 'R4',
    title: 'page of 40 employees with their employers',
    request: (random) => ({
      path: `/rest/Employee?$skip=${40 * random.below(pages)}&$top=40&$expand=employer`,
    }),
  },
  {
    ...usual,
    name: 'R5',
    title: 'page of 20 companies with their staff, 100 each',
    request: (random) => ({
      path: `/rest/Company?$skip=${20 * random.below(pages)}&$top=20&$expand=staff`,
    }),
  },
  {
    ...usual,
    name: 'R6',
    title: 'number, sum, average, least and greatest of all salaries',
    request: () => ({ path: '/rest/Employee/salary?$compute=$all' }),
  },
  {
    ...usual,
    name: 'R7',
    title: 'change of two attributes of an employee, stamp checked',
    change: 'update',
    request: () => ({ path: changePath }),
  },
  {
    ...usual,
    name: 'R8',
    title: 'creation of 100 employees, all or none',
    change: 'create',
    request: () => ({ path: changePath }),
  },
];

/** By hand, the change alone; triggers record it there, too. */
const withMore: readonly BenchRequest[] = everyday
  .filter(({ name }) => name === 'R7')
  .flatMap((each) => [
    { ...each, name: 'R7.audit', title: `${each.title}, and recorded`, variant: 'audit' },
    { ...each, name: 'R7.job', title: `${each.title}, with a job of it`, variant: 'jobs' },
  ]);

const setOfAll = '/rest/Employee?$method=entityset&$top=40';
const halves = [quoted('score < 500'), quoted('salary > 70000')] as const;

const sets: readonly BenchRequest[] = [
  {
    ...large,
    name: 'R9',
    title: 'entity set of all employees, and its first 40',
    request: () => ({ path: setOfAll }),
  },
  {
    ...large,
    name: 'R9.half',
    title: 'entity set of half of them, by a filter that no index serves',
    request: () => ({ path: `${setOfAll}&$filter=${halves[0]}` }),
  },
  {
    ...large,
    name: 'R9.order',
    title: 'entity set of all employees by last name',
    request: () => ({ path: `${setOfAll}&$orderby=${quoted('lastName')}` }),
  },
  ...(['AND', 'OR', 'EXCEPT'] as const).map((operator): BenchRequest => ({
    ...large,
    name: operator === 'AND' ? 'R10' : `R10.${operator.toLowerCase()}`,
    title: `two sets of half of the employees each, combined by ${operator}, first 40`,
    prepare: (server) => makeSets(server, halves),
    request: (_random, { sets: [one, other] = [] }) => ({
      path: `/rest/Employee/$entityset/${String(one)}?$logicOperator=${operator}&$otherCollection=${String(other)}&$top=40`,
    }),
  })),
  {
    ...large,
    name: 'R11',
    title: 'page of 100 at the far end of a set of all employees',
    prepare: (server) => makeSets(server, [undefined]),
    request: (random, { rows, sets: [set] = [] }) => ({
      path: `/rest/Employee/$entityset/${String(set)}?$top=100&$skip=${farEnd(random, rows)}`,
    }),
  },
  {
    ...large,
    name: 'R11.dataclass',
    title: 'page of 100 at the far end of the dataclass',
    request: (random, { rows }) => ({
      path: `/rest/Employee?$top=100&$skip=${farEnd(random, rows)}`,
    }),
  },
  {
    ...large,
    name: 'R12',
    title: 'filter that no index serves, 40 employees, and their number',
    request: (random) => ({
      path: `/rest/Employee?$filter=${quoted(`salary > ${118_000 + random.below(100_000) / 100}`)}&$top=40`,
    }),
  },
];

const selectionFunction = '/rest/Employee/';

const further: readonly BenchRequest[] = [
  {
    ...usual,
    variant: 'functions',
    name: 'R13',
    title: 'selection function: sum of the salaries of a city',
    request: (random) => ({
      path: `${selectionFunction}payroll/$entityset/?$filter=${ofCity(random)}`,
      body: '[]',
    }),
  },
  {
    ...usual,
    variant: 'functions',
    name: 'R13.list',
    title: 'selection function: a list that code makes of 40 employees of a city',
    request: (random) => ({
      path: `${selectionFunction}salaryList/$entityset/?$filter=${ofCity(random)}`,
      body: '[40]',
    }),
  },
  {
    ...usual,
    name: 'R14',
    title: 'page of 5 companies, their staff, its managers, and the employers of those',
    request: (random) => ({
      path: `/rest/Company?$skip=${5 * random.below(pages)}&$top=5&$expand=staff.manager.employer`,
    }),
  },
];

const queries: readonly BenchRequest[] = [
  {
    ...large,
    rows: 100_000,
    name: 'R17',
    title: 'employees grouped by city, with number and sum of salaries, 40 groups by that sum',
    request: () => ({
      path: '/rest/Employee?$groupby=city&$compute=count,sum(salary)&$orderby=sum(salary)%20desc&$top=40',
    }),
  },
  {
    ...large,
    name: 'R18',
    title: 'page of 100 behind a cursor at the far end of the dataclass',
    prepare: walkToEnd,
    request: (random, { tokens = [] }) => ({
      path: `/rest/Employee?$top=100&$after=${random.pick(tokens)}`,
    }),
  },
  {
    ...usual,
    name: 'R19',
    title: 'page of 20 companies, each with the three employees who earn most',
    request: (random) => ({
      path: `/rest/Company?$skip=${20 * random.below(pages)}&$top=20&$expand=staff($orderby=salary%20desc;$top=3)`,
    }),
  },
  {
    ...usual,
    variant: 'aggregates',
    name: 'R20',
    title: 'page of 40 employees with number and salaries of those whom they manage',
    request: (random) => ({
      path: `/rest/Employee?$skip=${40 * random.below(pages)}&$top=40&$attributes=lastName,reportCount,reportSalaries`,
    }),
  },
];

/** R1 to R4 and R7 again, by a user who has logged in. */
function again(name: string, variant: VariantName, who: string): readonly BenchRequest[] {
  return everyday
    .filter((each) => ['R1', 'R2', 'R3', 'R4', 'R7'].includes(each.name))
    .map((each) => ({
      ...each,
      name: `${name}.${each.name}`,
      title: `${each.title}, ${who}`,
      variant,
      prepare: logIn,
    }));
}

export const requests: readonly BenchRequest[] = [
  ...everyday,
  ...withMore,
  ...sets,
  ...further,
  ...again('R15', 'roles', 'with roles and a session'),
  ...again('R16', 'restrict', 'with roles, a session and restrict'),
  ...queries,
];

function ofCity(random: Random): string {
  return quoted(`city = '${random.pick(cities)}'`);
}

function farEnd(random: Random, rows: number): number {
  return rows - 100 - random.below(Math.min(1_000, rows / 2));
}

function quoted(text: string): string {
  return encodeURIComponent(`"${text}"`);
}
