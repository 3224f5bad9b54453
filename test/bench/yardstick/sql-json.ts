/**
 * A yardstick: the server of `model.yaml` as an expert writes it by hand who lets SQLite build the JSON, so that an answer
 * leaves the database as the bytes that are sent. Statement shapes were chosen by measuring; comments tell what lost.
 */
import type { Database, Statement } from 'better-sqlite3';
import type { Answers } from './answers.js';
import {
  boundTo,
  type Filtered,
  forEachFilter,
  type MaxScore,
  placeOf,
  whereAll,
} from './conditions.js';
import type { Counts } from './counts.js';
import { type PageQuery, topEarners } from './query.js';
import { serveYardstick } from './serve.js';
import {
  companyText,
  companyWithStaff,
  earnersPage,
  employeeText,
  reportsText,
} from './sql-text.js';

// A bare variable after LIMIT makes SQLite prepare the statement again whenever it is bound.
const integer = 'cast(? as integer)';

const globalStamp = `(select "value" from "__datastore" where "name" = 'globalStamp')`;

await serveYardstick(answers);

function answers(database: Database, counts: Counts, maxScore: MaxScore): Answers {
  const plain = employeeText({ maxScore });
  const byKey = `from (select * from "Employee" ${whereAll(['"ID" = ?'], maxScore)}) e`;
  const opened = (opening: string, openingValues: string): Statement<[number], string> =>
    database
      .prepare<[number], string>(
        `select ${employeeText({ maxScore, opening, openingValues })} ${byKey}`,
      )
      .pluck();
  const one = opened('{"__entityModel":"Employee",', '');
  const saved = opened(
    '{"__entityModel":"Employee","__STATUS":{"success":true},"uri":"/rest/Employee(%d)",',
    'e."ID", ',
  );
  const employees = employeePages(database, counts, maxScore, plain);
  const employeesExpanded = employeePages(
    database,
    counts,
    maxScore,
    employeeText({ maxScore, isEmployerExpanded: true }),
  );
  const companies = companyPages(database, counts, companyText());
  const companiesWithStaff = companyPages(
    database,
    counts,
    companyWithStaff(plain, globalStamp, maxScore),
  );
  const companiesWithManagers = companyPages(
    database,
    counts,
    companyWithStaff(employeeText({ maxScore, isManagerExpanded: true }), globalStamp, maxScore),
  );
  const companiesWithEarners = companyPages(
    database,
    counts,
    companyWithStaff(plain, globalStamp, maxScore, earnersPage),
  );
  const reports = employeePages(database, counts, maxScore, reportsText);
  const seen = whereAll([], maxScore);
  const groups = page(
    database,
    'Employee',
    `select format('{"city":%s,"count":%d,"sum(salary)":%s}', json_quote("city"), "count", "sum") as j from (
      select min("city") as "city", count(*) as "count", total("salary") as "sum" from "Employee" ${seen}
      group by "__folded_city" order by 3 desc, "__folded_city" limit ${integer})`,
    '__GROUPS',
  );
  const cities = database
    .prepare<[], number>(
      `select count(*) from (select 1 from "Employee" ${seen} group by "__folded_city")`,
    )
    .pluck();
  const members = database
    .prepare<[string, number, number, string], Uint8Array>(
      `select cast(concat('{', ?, '"__entityModel":"Employee","__GlobalStamp":', ${globalStamp}, ',"__COUNT":', ${integer},
        ',"__SENT":', count(*), ',"__FIRST":', ${integer}, ',"__ENTITIES":[', group_concat(j), ']}') as blob)
        from (select iif(e."ID" is null, '{"__STAMP":0}', ${plain}) as j
          from json_each(?) k left join "Employee" e on e."ID" = k.value order by k.key)`,
    )
    .pluck();
  const salaries = database
    .prepare<[], string>(
      `select format('{"salary":{"count":%d,"sum":%s,"average":%s,"min":%s,"max":%s}}', count("salary"), sum("salary"),
        sum("salary") / count("salary"), min("salary"), max("salary")) from "Employee" ${whereAll([], maxScore)}`,
    )
    .pluck();
  return {
    // A short text is sent in one piece with its headers; bytes are not.
    employee: (key) => one.get(key),
    employees: (query) => {
      if (query.isOfReports) return reports(query);
      return (query.expand === 'employer' ? employeesExpanded : employees)(query);
    },
    companies: (query) => {
      if (query.expand === undefined) return companies(query);
      if (query.expand === topEarners) return companiesWithEarners(query);
      return (query.expand === 'staff' ? companiesWithStaff : companiesWithManagers)(query);
    },
    members: ({ keys, count, first, head }) => members.get(head, count, first, keys),
    groups: (top) => {
      const all = counts.of(`${String(maxScore)} cities`, () => cities.get());
      return groups.get(all, 0, top);
    },
    salaries: () => salaries.get(),
    saved: (key) => saved.get(key) ?? '',
  };
}

type Page = (query: PageQuery) => Uint8Array | undefined;
type PageStatement = Statement<unknown[], Uint8Array>;

/** Reads pages of employees; a statement for each combination of filter and order. */
function employeePages(database: Database, counts: Counts, maxScore: MaxScore, json: string): Page {
  const byKey = (where: string): PageStatement =>
    page(
      database,
      'Employee',
      `select ${json} as j from (select * from "Employee" ${where}) e order by e."ID" limit ${integer} offset ${integer}`,
    );
  // Keys first: otherwise SQLite writes the JSON of every entity that is on the page at any time
  // during the sort.
  const byLastName = (where: string): PageStatement =>
    page(
      database,
      'Employee',
      `select ${json} as j from (
        select "ID" as k from "Employee" ${where} order by "__folded_lastName", "ID" limit ${integer} offset ${integer}
      ) cross join "Employee" e on e."ID" = k`,
    );
  const statements: Readonly<Record<PageQuery['order'], Filtered<PageStatement>>> = {
    ID: forEachFilter(maxScore, byKey),
    lastName: forEachFilter(maxScore, byLastName),
  };
  const count = forEachFilter(maxScore, (where) =>
    database.prepare<unknown[], number>(`select count(*) from "Employee" ${where}`).pluck(),
  );
  const behind = database
    .prepare<[number, number, number, number], Uint8Array>(
      `select cast(concat('{"__entityModel":"Employee","__GlobalStamp":', ${globalStamp}, ',"__COUNT":', ${integer},
        ',"__SENT":', count(*), ',"__ENTITIES":[', group_concat(j), '],"__NEXT":',
        iif(count(*) < ${integer}, 'null', concat('"', max(k), '"')), '}') as blob)
        from (select ${json} as j, e."ID" as k from (select * from "Employee" ${whereAll(['"ID" > ?'], maxScore)}) e
          order by e."ID" limit ${integer})`,
    )
    .pluck();
  return ({ skip, top, filter, order, after }) => {
    const values = boundTo(filter);
    const all = counts.of(`${String(maxScore)} ${filter?.by ?? ''} ${filter?.value ?? ''}`, () =>
      count[placeOf(filter)].get(...values),
    );
    if (after !== undefined) return behind.get(all, top, after, top);
    return statements[order][placeOf(filter)].get(all, skip, ...values, top, skip);
  };
}

function companyPages(database: Database, counts: Counts, json: string): Page {
  const rows = `select ${json} as j from "Company" c order by "ID" limit ${integer} offset ${integer}`;
  const statement = page(database, 'Company', rows);
  const count = database.prepare<[], number>('select count(*) from "Company"').pluck();
  return ({ skip, top }) =>
    statement.get(
      counts.of('Company', () => count.get()),
      skip,
      top,
      skip,
    );
}

/** Its values are the number of all, the skip, and those of the rows. */
function page(
  database: Database,
  dataclass: string,
  rows: string,
  list = '__ENTITIES',
): PageStatement {
  return database
    .prepare<unknown[], Uint8Array>(
      `select cast(concat('{"__entityModel":"${dataclass}","__GlobalStamp":', ${globalStamp}, ',"__COUNT":', ${integer},
        ',"__SENT":', count(*), ',"__FIRST":', ${integer}, ',"${list}":[', group_concat(j), ']}') as blob) from (${rows})`,
    )
    .pluck();
}
