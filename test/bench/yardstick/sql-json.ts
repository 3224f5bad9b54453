/**
 * A yardstick: the server of `model.yaml` as an expert writes it by hand who lets SQLite build the JSON, so that an answer
 * leaves the database as the bytes that are sent. Statement shapes were chosen by measuring; comments tell what lost.
 */
import type BetterSqlite3 from 'better-sqlite3';
import type { PageQuery } from './query.js';
import { type Answers, serveYardstick } from './serve.js';

type Database = BetterSqlite3.Database;

// One `format` for an entity beats `concat` by a tenth, and both beat `json_object`.
const employeeHead =
  '{"__KEY":"%d","__TIMESTAMP":"%s","__STAMP":%d,"ID":%d,"firstName":%s,"lastName":%s,"email":%s,' +
  '"birthDate":%s,"hiredAt":%s,"salary":%s,"active":%s,"city":%s,"jobTitle":%s,"score":%s,"employer":';
const employeeValues = `e."ID", e."__TIMESTAMP", e."__STAMP", e."ID", json_quote(e."firstName"), json_quote(e."lastName"),
  json_quote(e."email"), json_quote(e."birthDate"), json_quote(e."hiredAt"), ifnull(e."salary", 'null'),
  ${boolean('e."active"')}, json_quote(e."city"), json_quote(e."jobTitle"), ifnull(e."score", 'null')`;
const deferredEmployer = '{"__deferred":{"uri":"/rest/Company(%d)","__KEY":"%d"}}';

const companyHead =
  '{"__KEY":"%d","__TIMESTAMP":"%s","__STAMP":%d,"ID":%d,"name":%s,"city":%s,"country":%s,"founded":%s,' +
  '"revenue":%s,"active":%s,"staff":';
const companyValues = `c."ID", c."__TIMESTAMP", c."__STAMP", c."ID", json_quote(c."name"), json_quote(c."city"),
  json_quote(c."country"), json_quote(c."founded"), ifnull(c."revenue", 'null'), ${boolean('c."active"')}`;
const deferredStaff = '{"__deferred":{"uri":"/rest/Company(%d)/staff?$expand=staff"}}';

// A bare variable behind LIMIT makes SQLite prepare the statement anew whenever it is bound.
const integer = 'cast(? as integer)';

const globalStamp = `(select "value" from "__datastore" where "name" = 'globalStamp')`;

await serveYardstick(answers);

function answers(database: Database): Answers {
  const one = database
    .prepare<[number], string>(
      `select ${employee('{"__entityModel":"Employee",')} from "Employee" e where e."ID" = ?`,
    )
    .pluck();
  const saved = database
    .prepare<[number], string>(
      `select ${employee('{"__entityModel":"Employee","__STATUS":{"success":true},"uri":"/rest/Employee(%d)",', 'e."ID", ')}
        from "Employee" e where e."ID" = ?`,
    )
    .pluck();
  const employees = employeePages(database, employee());
  const employeesExpanded = employeePages(database, employeeWithEmployer());
  const companies = companyPages(database, company());
  const companiesExpanded = companyPages(database, companyWithStaff());
  const salaries = database
    .prepare<[], string>(
      `select format('{"salary":{"count":%d,"sum":%s,"average":%s,"min":%s,"max":%s}}', count("salary"), sum("salary"),
        avg("salary"), min("salary"), max("salary")) from "Employee"`,
    )
    .pluck();
  return {
    // A short text is sent in one piece with its headers; bytes are not.
    employee: (key) => one.get(key),
    employees: (query) => (query.expand === 'employer' ? employeesExpanded : employees)(query),
    companies: (query) => (query.expand === 'staff' ? companiesExpanded : companies)(query),
    salaries: () => salaries.get(),
    saved: (key) => saved.get(key) ?? '',
  };
}

type Page = (query: PageQuery) => Uint8Array | undefined;

/** Reads pages of employees; a statement for each combination of filter and order. */
function employeePages(database: Database, json: string): Page {
  const ofCity = ' where "__folded_city" = ?';
  const byKey = (where: string): Statement =>
    page(
      database,
      'Employee',
      `select ${json} as j from "Employee" e${where} order by "ID" limit ${integer} offset ${integer}`,
      where,
    );
  // Keys first: otherwise the JSON is written of every entity that is among the first for a while.
  const byLastName = (where: string): Statement =>
    page(
      database,
      'Employee',
      `select ${json} as j from (
        select "ID" as k from "Employee"${where} order by "__folded_lastName", "ID" limit ${integer} offset ${integer}
      ) cross join "Employee" e on e."ID" = k`,
      where,
    );
  const all = { ID: byKey(''), lastName: byLastName('') };
  const inCity = { ID: byKey(ofCity), lastName: byLastName(ofCity) };
  return ({ skip, top, city, order }) =>
    city === undefined
      ? all[order].get(skip, top, skip)
      : inCity[order].get(city, skip, city, top, skip);
}

function companyPages(database: Database, json: string): Page {
  const rows = `select ${json} as j from "Company" c order by "ID" limit ${integer} offset ${integer}`;
  const statement = page(database, 'Company', rows, '');
  return ({ skip, top }) => statement.get(skip, top, skip);
}

type Statement = BetterSqlite3.Statement<unknown[], Uint8Array>;

/** Count and page in one statement; its values are those of the condition, the skip, and those of the rows. */
function page(database: Database, dataclass: string, rows: string, where: string): Statement {
  return database
    .prepare<unknown[], Uint8Array>(
      `select cast(concat('{"__entityModel":"${dataclass}","__GlobalStamp":', ${globalStamp}, ',"__COUNT":',
        (select count(*) from "${dataclass}"${where}), ',"__SENT":', count(*), ',"__FIRST":', ${integer},
        ',"__ENTITIES":[', group_concat(j), ']}') as blob) from (${rows})`,
    )
    .pluck();
}

/** @param openingValues what the opening has placeholders for */
function employee(opening = '{', openingValues = ''): string {
  const head = opening + employeeHead.slice(1);
  return `format(iif(e."employerID" is null, '${head}null}', '${head}${deferredEmployer}}'), ${openingValues}${employeeValues},
    e."employerID", e."employerID")`;
}

/** A subquery, not a join: a join is made for the rows, too, that `offset` passes over. */
function employeeWithEmployer(): string {
  return `format('${employeeHead}%s}', ${employeeValues},
    ifnull((select ${company()} from "Company" c where c."ID" = e."employerID"), 'null'))`;
}

function company(): string {
  return `format('${companyHead}${deferredStaff}}', ${companyValues}, c."ID")`;
}

/** Long texts are put together by `concat`, which measures first and copies once. */
function companyWithStaff(): string {
  return `concat(format('${companyHead}', ${companyValues}), (
    select concat('{"__ENTITYSET":"/rest/Company(', c."ID", ')/staff?$expand=staff","__GlobalStamp":', ${globalStamp},
      ',"__COUNT":', (select count(*) from "Employee" where "employerID" = c."ID"), ',"__SENT":', count(*),
      ',"__FIRST":0,"__ENTITIES":[', group_concat(j), ']}')
    from (select ${employee()} as j from "Employee" e where e."employerID" = c."ID" order by e."ID" limit 100)), '}')`;
}

function boolean(column: string): string {
  return `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`;
}
