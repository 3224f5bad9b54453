/**
 * A yardstick: the server of `model.yaml` as an expert writes it by hand who reads rows as arrays from prepared statements and
 * concatenates the JSON.
 */
import type { Database, Statement } from 'better-sqlite3';
import { groupsOf, reportsOf } from './aggregate-rows.js';
import type { Answers } from './answers.js';
import {
  boundTo,
  type Filtered,
  forEachFilter,
  managerKey,
  type MaxScore,
  placeOf,
  whereAll,
} from './conditions.js';
import type { Counts } from './counts.js';
import type { Order } from './query.js';
import { relatedCompanies, staffOf } from './related-rows.js';
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
import { serveYardstick } from './serve.js';

// A bare variable after LIMIT makes SQLite prepare the statement again whenever it is bound.
const integer = 'cast(? as integer)';

await serveYardstick(answers);

function answers(database: Database, counts: Counts, maxScore: MaxScore): Answers {
  const columns = employeeColumns(managerKey(maxScore));
  const one = database
    .prepare<[number], EmployeeRow>(
      `select ${columns} from (select * from "Employee" ${whereAll(['"ID" = ?'], maxScore)}) e`,
    )
    .raw();
  const stamp = database
    .prepare<[], number>(`select "value" from "__datastore" where "name" = 'globalStamp'`)
    .pluck();
  const countCompanies = database.prepare<[], number>('select count(*) from "Company"').pluck();
  const countEmployees = forEachFilter(maxScore, (where) =>
    database.prepare<unknown[], number>(`select count(*) from "Employee" ${where}`).pluck(),
  );
  const companies = database
    .prepare<[number, number], CompanyRow>(
      `select ${companyColumns} from "Company" c order by c."ID" limit ${integer} offset ${integer}`,
    )
    .raw();
  const groups = groupsOf(database, maxScore);
  const reports = reportsOf(database, maxScore);
  const members = database
    .prepare<[string], EmployeeRow | readonly [null]>(
      `select ${columns} from json_each(?) k left join "Employee" e on e."ID" = k.value order by k.key`,
    )
    .raw();
  const pages = employeePages(database, maxScore, columns);
  const employers = relatedCompanies(database);
  const staff = staffOf(database, counts, maxScore, columns);
  const salaries = database
    .prepare<[], readonly [number, number, number, number, number]>(
      `select count("salary"), sum("salary"), sum("salary") / count("salary"), min("salary"), max("salary") from "Employee" ${whereAll([], maxScore)}`,
    )
    .raw();

  const withHead = (row: EmployeeRow, head: string): string =>
    employeeJson(row, deferredEmployer(row[13]), deferredManager(row[14]), head);
  return {
    employee: (key) => {
      const row = one.get(key);
      return row && withHead(row, '{"__entityModel":"Employee",');
    },
    saved: (key) => {
      const row = one.get(key);
      const head = `{"__entityModel":"Employee","__STATUS":{"success":true},"uri":"/rest/Employee(${key})",`;
      return row === undefined ? '' : withHead(row, head);
    },
    employees: ({ skip, top, filter, order, expand, isOfReports, after }) => {
      const count = counts.of(
        `${String(maxScore)} ${filter?.by ?? ''} ${filter?.value ?? ''}`,
        () => countEmployees[placeOf(filter)].get(...boundTo(filter)),
      );
      if (isOfReports) {
        const list = reports(top, skip);
        return `{"__entityModel":"Employee",${envelope({ stamp: stamp.get(), count, sent: list.length, first: skip, list: list.join() })}`;
      }
      const rows =
        after === undefined
          ? pages[order][placeOf(filter)].all(...boundTo(filter), top, skip)
          : pages.behind.all(after, top);
      const employer =
        expand === 'employer' ? employers(rows.map((row) => row[13])) : deferredEmployer;
      let list = '';
      for (const row of rows) {
        list +=
          (list === '' ? '' : ',') + employeeJson(row, employer(row[13]), deferredManager(row[14]));
      }
      if (after !== undefined) {
        const next = rows.length < top ? 'null' : `"${String(rows.at(-1)?.[0])}"`;
        return `{"__entityModel":"Employee","__GlobalStamp":${String(stamp.get())},"__COUNT":${count},"__SENT":${rows.length},"__ENTITIES":[${list}],"__NEXT":${next}}`;
      }
      return `{"__entityModel":"Employee",${envelope({ stamp: stamp.get(), count, sent: rows.length, first: skip, list })}`;
    },
    groups: (top) => {
      const list = groups.list(top);
      const count = counts.of(`${String(maxScore)} cities`, groups.count);
      return `{"__entityModel":"Employee","__GlobalStamp":${String(stamp.get())},"__COUNT":${count},"__SENT":${list.length},"__FIRST":0,"__GROUPS":[${list.join()}]}`;
    },
    members: ({ keys, count, first, head }) => {
      const rows = members.all(keys);
      let list = '';
      for (const row of rows) {
        list += (list === '' ? '' : ',') + (row[0] === null ? '{"__STAMP":0}' : withHead(row, '{'));
      }
      return `{${head}"__entityModel":"Employee",${envelope({ stamp: stamp.get(), count, sent: rows.length, first, list })}`;
    },
    companies: ({ skip, top, expand }) => {
      const rows = companies.all(top, skip);
      const globalStamp = stamp.get();
      const related = expand === undefined ? deferredStaff : staff(rows, globalStamp, expand);
      let list = '';
      for (const row of rows) {
        list += (list === '' ? '' : ',') + companyJson(row, related(row[0]));
      }
      const count = counts.of('Company', () => countCompanies.get());
      return `{"__entityModel":"Company",${envelope({ stamp: globalStamp, count, sent: rows.length, first: skip, list })}`;
    },
    salaries: () => {
      const row = salaries.get();
      if (row === undefined) return undefined;
      const [count, sum, average, min, max] = row;
      return `{"salary":{"count":${count},"sum":${sum},"average":${average},"min":${min},"max":${max}}}`;
    },
  };
}

type Page = Statement<unknown[], EmployeeRow>;

function employeePages(
  database: Database,
  maxScore: MaxScore,
  columns: string,
): Readonly<Record<Order, Filtered<Page>>> & { readonly behind: Page } {
  // Keys first, so that only the rows of the page are read completely, and skipped rows are not.
  const page = (order: string) => (where: string) =>
    database
      .prepare<unknown[], EmployeeRow>(
        `select ${columns} from (
          select "ID" as k from "Employee" ${where} order by ${order} limit ${integer} offset ${integer}
        ) cross join "Employee" e on e."ID" = k`,
      )
      .raw();
  const inPlace = (where: string): Page =>
    database
      .prepare<unknown[], EmployeeRow>(
        `select ${columns} from (select * from "Employee" ${where}) e order by e."ID" limit ${integer} offset ${integer}`,
      )
      .raw();
  return {
    ID: forEachFilter(maxScore, inPlace),
    lastName: forEachFilter(maxScore, page('"__folded_lastName", "ID"')),
    behind: database
      .prepare<unknown[], EmployeeRow>(
        `select ${columns} from (select * from "Employee" ${whereAll(['"ID" > ?'], maxScore)}) e order by e."ID" limit ${integer}`,
      )
      .raw(),
  };
}
