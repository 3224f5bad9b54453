import { capEmployees, capService } from './cap-changes.js';
import { cities } from '../data/names.js';
import type { Random } from '../data/random.js';
import type { BenchRequest } from '../requests.js';

/** Pages are as deep as those of the others. */
const pages = 20;
const employees = capEmployees;
const companies = `${capService}/Companies`;
const salaries = ['sum', 'average', 'min', 'max']
  .map((operation) => `salary with ${operation} as ${operation}`)
  .join();

/**
 * The nearest OData equivalents of the measured requests. They ask for the total number if the
 * others return it.
 */
const paths: Readonly<Record<string, (random: Random, key: number) => string>> = {
  R1: (_random, key) => `${employees}(${key})`,
  R2: (random) => `${employees}?$count=true&$skip=${100 * random.below(pages)}&$top=100`,
  // The data contains one spelling of each city; CAP could not use its index for a comparison of
  // lower case.
  R3: (random) =>
    `${employees}?$count=true&$filter=${encodeURIComponent(`city eq '${random.pick(cities)}'`)}&$orderby=lastName&$top=40`,
  R4: (random) =>
    `${employees}?$count=true&$skip=${40 * random.below(pages)}&$top=40&$expand=employer`,
  R5: (random) =>
    `${companies}?$count=true&$skip=${20 * random.below(pages)}&$top=20&$expand=staff($top=100;$orderby=ID)`,
  // The others count the salaries that are not null.
  R6: () =>
    `${employees}?$apply=filter(salary%20ne%20null)/aggregate(${encodeURIComponent(`$count as number,${salaries}`)})`,
  R14: (random) =>
    `${companies}?$count=true&$skip=${5 * random.below(pages)}&$top=5&$expand=staff($top=100;$orderby=ID;$expand=manager($expand=employer))`,
};

/** The request that CAP gets instead; nothing if it has no equivalent. */
export function capRequest(request: BenchRequest): BenchRequest | undefined {
  if (request.change !== undefined && request.variant === 'plain') {
    return { ...request, service: 'cap' };
  }
  const path = paths[request.name];
  if (path === undefined) return undefined;
  return {
    ...request,
    request: (random, { key }) => ({ path: path(random, request.name === 'R1' ? key(random) : 0) }),
  };
}

/**
 * The numbers of sent and of all entities in an answer: each entity has `__STAMP` and `ID` once.
 */
export function countsOf(json: string, name: string): string {
  if (name === 'R6') return String(/"(?:count|number)":(\d+)/.exec(json)?.[1]);
  const all = /"(?:__COUNT|@odata\.count)":(\d+)/.exec(json)?.[1] ?? '1';
  const entities = json.match(json.includes('"__STAMP":') ? /"__STAMP":/g : /"ID":/g)?.length ?? 0;
  return `${entities} of ${all}`;
}
