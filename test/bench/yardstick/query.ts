/** The part of the query string that the measured requests need. */
export interface PageQuery {
  readonly skip: number;
  readonly top: number;
  readonly filter: Filter | undefined;
  readonly order: Order;
  readonly expand: string | undefined;
  /** Whether the page shows the reports of each employee and nothing else but the last name. */
  readonly isOfReports: boolean;
  /** The last key of the page before, which is the token of a cursor. */
  readonly after: number | undefined;
}

/** An expansion of companies by the employees who earn most. */
export const topEarners = 'staff($orderby=salary desc;$top=3)';

export interface Filter {
  readonly by: FilteredBy;
  /** A city is folded. */
  readonly value: string | number;
}

export type FilteredBy = 'city' | 'score' | 'salary';
export type Order = 'ID' | 'lastName';

/** The query string as Fastify gives it. */
export type QueryString = Readonly<Record<string, string | undefined>>;

const cityFilter = /^"?city = '([^'\\]*)'"?$/;
const numberFilter = /^"?(?:(score) <|(salary) >) (\d{1,9}(?:\.\d{1,9})?)"?$/;
const wholeNumber = /^\d{1,9}$/;

/** The requested page; `undefined` if it is not a measured request. */
export function readPageQuery(query: QueryString): PageQuery | undefined {
  const skip = number(query['$skip'], 0);
  const top = number(query['$top'], 100);
  const isOfReports = query['$attributes'] === 'lastName,reportCount,reportSalaries';
  const begin = query['$cursor'] === 'true' ? '0' : undefined;
  const after = number(query['$after'] ?? begin, undefined);
  const order = readOrder(query['$orderby']);
  if (skip === undefined || top === undefined || order === undefined) return undefined;
  const text = query['$filter'];
  const filter = text === undefined ? undefined : readFilter(text);
  if (text !== undefined && filter === undefined) return undefined;
  return { skip, top, filter, order, expand: query['$expand'], isOfReports, after };
}

/** The number of cities, by the sum of salaries; `undefined` if other groups are requested. */
export function readGroupsTop(query: QueryString): number | undefined {
  const isMeasured =
    query['$groupby'] === 'city' &&
    query['$compute'] === 'count,sum(salary)' &&
    query['$orderby'] === 'sum(salary) desc';
  return isMeasured ? number(query['$top'], 100) : undefined;
}

export function readFilter(text: string): Filter | undefined {
  const city = cityFilter.exec(text)?.[1];
  if (city !== undefined) return { by: 'city', value: fold(city) };
  const [, score, salary, value] = numberFilter.exec(text) ?? [];
  if (score !== undefined) return { by: 'score', value: Number(value) };
  if (salary !== undefined) return { by: 'salary', value: Number(value) };
  return undefined;
}

function number<T>(text: string | undefined, absent: T): number | T | undefined {
  if (text === undefined) return absent;
  return wholeNumber.test(text) ? Number(text) : undefined;
}

function readOrder(text: string | undefined): Order | undefined {
  if (text === undefined) return 'ID';
  if (text === '"lastName"' || text === 'lastName') return 'lastName';
  return undefined;
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
