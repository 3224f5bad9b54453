import type { Database } from 'better-sqlite3';
import { managerKey, type MaxScore, whereAll } from './conditions.js';
import type { Counts } from './counts.js';
import { topEarners } from './query.js';
import {
  companyColumns,
  companyJson,
  type CompanyRow,
  deferredEmployer,
  deferredManager,
  deferredStaff,
  employeeColumns,
  employeeJson,
  type EmployeeRow,
  envelope,
} from './serialize.js';

/** The JSON of a related entity inside its owner. */
type Related = (id: number | null) => string;

const staffPage = 100;
const earnersPage = 3;

/** The companies of some keys, in one statement, each written once. */
export function relatedCompanies(
  database: Database,
): (keys: readonly (number | null)[]) => Related {
  const list = database
    .prepare<[string], CompanyRow>(
      `select ${companyColumns} from "Company" c where c."ID" in (select value from json_each(?))`,
    )
    .raw();
  return (keys) => {
    const employers = new Map<number | null, string>();
    for (const row of list.all(listOf(keys))) {
      employers.set(row[0], companyJson(row, deferredStaff(row[0])));
    }
    return (id) => employers.get(id) ?? 'null';
  };
}

/** The employees of some keys, in one statement, each written once, with their employers. */
function relatedManagers(
  database: Database,
  maxScore: MaxScore,
): (keys: readonly (number | null)[]) => Related {
  const columns = employeeColumns(managerKey(maxScore));
  const list = database
    .prepare<[string], EmployeeRow>(
      `select ${columns} from "Employee" e where e."ID" in (select value from json_each(?))`,
    )
    .raw();
  const employers = relatedCompanies(database);
  return (keys) => {
    const rows = list.all(listOf(keys));
    const employer = employers(rows.map((row) => row[13]));
    const managers = new Map<number | null, string>();
    for (const row of rows) {
      managers.set(row[0], employeeJson(row, employer(row[13]), deferredManager(row[14])));
    }
    return (id) => managers.get(id) ?? 'null';
  };
}

function listOf(keys: readonly (number | null)[]): string {
  return `[${[...new Set(keys)].filter((each) => each !== null).join()}]`;
}

/** The staff of companies, by their keys: a page of each. */
export function staffOf(
  database: Database,
  counts: Counts,
  maxScore: MaxScore,
  columns: string,
): (companies: readonly CompanyRow[], stamp: number | undefined, expand: string) => Related {
  const employed = whereAll(['"employerID" = ?'], maxScore);
  const page = database
    .prepare<[number], EmployeeRow>(
      `select ${columns} from (select * from "Employee" ${employed}) e order by e."ID" limit ${staffPage}`,
    )
    .raw();
  const earners = database
    .prepare<[number], EmployeeRow>(
      // Keys first, so that only rows of the page are read completely.
      `select ${columns} from (
        select "ID" as k from "Employee" ${employed} order by "salary" desc, "ID" limit ${earnersPage}
      ) cross join "Employee" e on e."ID" = k`,
    )
    .raw();
  const count = database
    .prepare<[number], number>(`select count(*) from "Employee" ${employed}`)
    .pluck();
  const managers = relatedManagers(database, maxScore);
  return (companies, stamp, expand) => {
    const [read, top] = expand === topEarners ? [earners, earnersPage] : [page, staffPage];
    const pages = new Map(companies.map(([id]) => [id, read.all(id)]));
    const manager =
      expand === 'staff.manager.employer'
        ? managers([...pages.values()].flatMap((rows) => rows.map((row) => row[14])))
        : deferredManager;
    return (id) => {
      const rows = (id === null ? undefined : pages.get(id)) ?? [];
      const employer = deferredEmployer(id);
      let list = '';
      for (const row of rows) {
        list += (list === '' ? '' : ',') + employeeJson(row, employer, manager(row[14]));
      }
      // An incomplete page is its own count.
      const total =
        rows.length < top || id === null
          ? rows.length
          : counts.of(`${String(maxScore)} staff ${id}`, () => count.get(id));
      return `{"__ENTITYSET":"/rest/Company(${String(id)})/staff?$expand=staff",${envelope({ stamp, count: total, sent: rows.length, first: 0, list })}`;
    };
  };
}
