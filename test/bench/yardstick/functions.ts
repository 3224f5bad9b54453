import type { Database } from 'better-sqlite3';
import { type Filter } from './query.js';
import { boundTo, forEachFilter, placeOf } from './conditions.js';

interface Earner {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly salary: number | null;
}

export type EmployeeFunction = (filter: Filter | undefined, args: readonly unknown[]) => unknown;

/** The functions that the model declares for selections of employees, each as a route's own statement and code. */
export function employeeFunctions(
  database: Database,
): Readonly<Record<'payroll' | 'salaryList', EmployeeFunction>> {
  const payroll = forEachFilter(undefined, (where) =>
    database.prepare<unknown[], number>(`select sum("salary") from "Employee" ${where}`).pluck(),
  );
  const earners = forEachFilter(undefined, (where) =>
    database.prepare<unknown[], Earner>(
      // Keys first, so that only rows of the list are read whole.
      `select e."firstName", e."lastName", e."salary" from (
        select "ID" as k from "Employee" ${where} order by "__folded_lastName", "ID" limit cast(? as integer)
      ) cross join "Employee" e on e."ID" = k`,
    ),
  );
  return {
    payroll: (filter) => payroll[placeOf(filter)].get(...boundTo(filter)) ?? 0,
    salaryList: (filter, [count]) => {
      if (!Number.isSafeInteger(count)) throw new TypeError('count is no integer.');
      return earners[placeOf(filter)]
        .all(...boundTo(filter), count)
        .map(({ firstName, lastName, salary }) => ({
          name: `${firstName ?? ''} ${lastName ?? ''}`,
          monthly: salary === null ? null : Math.round(salary / 12),
        }));
    },
  };
}
