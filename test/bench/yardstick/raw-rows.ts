/**
 * A yardstick: the server of `model.yaml` as an expert writes it by hand who reads rows as arrays from prepared statements and
 * concatenates the JSON.
 */
import type { Database, Statement } from 'better-sqlite3';
import type { PageQuery } from './query.js';
import {
  companyColumns,
  companyJson,
  type CompanyRow,
  deferredEmployer,
  deferredStaff,
  employeeColumns,
  employeeJson,
  type EmployeeRow,
} from './serialize.js';
import { type Answers, serveYardstick } from './serve.js';

// A bare variable behind LIMIT makes SQLite prepare the statement anew whenever it is bound.
const integer = 'cast(? as integer)';

const staffPage = 100;

await serveYardstick(answers);

function answers(database: Database): Answers {
  const one = database
    .prepare<[number], EmployeeRow>(`select ${employeeColumns} from "Employee" e where e."ID" = ?`)
    .raw();
  const stamp = database
    .prepare<[], number>(`select "value" from "__datastore" where "name" = 'globalStamp'`)
    .pluck();
  const countCompanies = database.prepare<[], number>('select count(*) from "Company"').pluck();
  const companies = database
    .prepare<[number, number], CompanyRow>(
      `select ${companyColumns} from "Company" c order by c."ID" limit ${integer} offset ${integer}`,
    )
    .raw();
  const employees = employeePages(database);
  const employers = employersOf(database);
  const staff = staffOf(database);
  const salaries = database
    .prepare<[], readonly [number, number, number, number, number]>(
      `select count("salary"), sum("salary"), avg("salary"), min("salary"), max("salary") from "Employee"`,
    )
    .raw();
  return {
    employee: (key) => {
      const row = one.get(key);
      return row && employeeJson(row, deferredEmployer(row[13]), '{"__entityModel":"Employee",');
    },
    saved: (key) => {
      const row = one.get(key);
      const head = `{"__entityModel":"Employee","__STATUS":{"success":true},"uri":"/rest/Employee(${key})",`;
      return row === undefined ? '' : employeeJson(row, deferredEmployer(row[13]), head);
    },
    employees: (query) => {
      const { rows, count } = employees(query);
      const employer = query.expand === 'employer' ? employers(rows) : deferredEmployer;
      let list = '';
      for (const row of rows) {
        list += (list === '' ? '' : ',') + employeeJson(row, employer(row[13]));
      }
      return `{"__entityModel":"Employee",${envelope(stamp.get(), count, rows.length, query.skip, list)}`;
    },
    companies: (query) => {
      const rows = companies.all(query.top, query.skip);
      const globalStamp = stamp.get();
      let list = '';
      for (const row of rows) {
        const id = row[0];
        const related = query.expand === 'staff' ? staff(id, globalStamp) : deferredStaff(id);
        list += (list === '' ? '' : ',') + companyJson(row, related);
      }
      const count = countCompanies.get();
      return `{"__entityModel":"Company",${envelope(globalStamp, count, rows.length, query.skip, list)}`;
    },
    salaries: () => {
      const row = salaries.get();
      if (row === undefined) return undefined;
      const [count, sum, average, min, max] = row;
      return `{"salary":{"count":${count},"sum":${sum},"average":${average},"min":${min},"max":${max}}}`;
    },
  };
}

function envelope(
  stamp: number | undefined,
  count: number | undefined,
  sent: number,
  first: number,
  list: string,
): string {
  return `"__GlobalStamp":${String(stamp)},"__COUNT":${String(count)},"__SENT":${sent},"__FIRST":${first},"__ENTITIES":[${list}]}`;
}

interface EmployeePage {
  readonly rows: readonly EmployeeRow[];
  readonly count: number | undefined;
}

function employeePages(database: Database): (query: PageQuery) => EmployeePage {
  const ofCity = ' where "__folded_city" = ?';
  const count = (where: string): Statement<unknown[], number> =>
    database.prepare<unknown[], number>(`select count(*) from "Employee"${where}`).pluck();
  const page = (sql: string): Statement<unknown[], EmployeeRow> =>
    database.prepare<unknown[], EmployeeRow>(sql).raw();
  const byKey = (where: string): string =>
    `select ${employeeColumns} from "Employee" e${where} order by e."ID" limit ${integer} offset ${integer}`;
  // Keys first, so that only rows of the page are read whole.
  const byLastName = (where: string): string =>
    `select ${employeeColumns} from (select "ID" as k from "Employee"${where} order by "__folded_lastName", "ID" limit ${integer} offset ${integer})
      cross join "Employee" e on e."ID" = k`;
  const countAll = count('');
  const countCity = count(ofCity);
  const all = { ID: page(byKey('')), lastName: page(byLastName('')) };
  const inCity = { ID: page(byKey(ofCity)), lastName: page(byLastName(ofCity)) };
  return ({ skip, top, city, order }) =>
    city === undefined
      ? { rows: all[order].all(top, skip), count: countAll.get() }
      : { rows: inCity[order].all(city, top, skip), count: countCity.get(city) };
}

/** The companies that the employees of a page work for, in one statement, each written once. */
function employersOf(
  database: Database,
): (rows: readonly EmployeeRow[]) => (id: number | null) => string {
  const list = database
    .prepare<[string], CompanyRow>(
      `select ${companyColumns} from "Company" c where c."ID" in (select value from json_each(?))`,
    )
    .raw();
  return (rows) => {
    const keys = new Set<number>();
    for (const row of rows) if (row[13] !== null) keys.add(row[13]);
    const employers = new Map<number | null, string>();
    for (const row of list.all(`[${[...keys].join()}]`)) {
      employers.set(row[0], companyJson(row, deferredStaff(row[0])));
    }
    return (id) => employers.get(id) ?? 'null';
  };
}

function staffOf(database: Database): (id: number, stamp: number | undefined) => string {
  const page = database
    .prepare<[number], EmployeeRow>(
      `select ${employeeColumns} from "Employee" e where e."employerID" = ? order by e."ID" limit ${staffPage}`,
    )
    .raw();
  const count = database
    .prepare<[number], number>('select count(*) from "Employee" where "employerID" = ?')
    .pluck();
  return (id, stamp) => {
    const rows = page.all(id);
    const employer = deferredEmployer(id);
    let list = '';
    for (const row of rows) list += (list === '' ? '' : ',') + employeeJson(row, employer);
    // A page that is not full has been counted already.
    const total = rows.length < staffPage ? rows.length : count.get(id);
    return `{"__ENTITYSET":"/rest/Company(${id})/staff?$expand=staff",${envelope(stamp, total, rows.length, 0, list)}`;
  };
}
