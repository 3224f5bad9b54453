import { andSeen, type MaxScore } from './conditions.js';

/**
 * SQL of a part of the JSON of an entity. It consists of pieces, because one `format` writes the
 * whole entity.
 */
interface Part {
  readonly format: string;
  /** The arguments of the format, each after a comma. */
  readonly values: string;
  /** A format that is used instead, and when. */
  readonly absent?: { readonly when: string; readonly format: string };
}

/**
 * One `format` for an entity beats `concat` by a tenth, and both beat `json_object`. A relation that may be null is a choice
 * between two formats; a `format` inside the other costs a tenth more.
 */
function entity(head: string, values: string, parts: readonly Part[]): string {
  const given = parts.map((part) => part.values).join('');
  return `format(${chosen(head, parts)}, ${values}${given})`;
}

function chosen(text: string, [part, ...others]: readonly Part[]): string {
  if (part === undefined) return `'${text}}'`;
  const there = chosen(text + part.format, others);
  if (part.absent === undefined) return there;
  const { when, format } = part.absent;
  return `case when ${when} then ${chosen(text + format, others)} else ${there} end`;
}

/** A related entity that is not expanded; `%.0s` takes a value and prints nothing. */
function deferred(name: string, dataclass: string, key: string): Part {
  return {
    format: `,"${name}":{"__deferred":{"uri":"/rest/${dataclass}(%d)","__KEY":"%d"}}`,
    values: `, ${key}, ${key}`,
    absent: { when: `${key} is null`, format: `,"${name}":null%.0s%.0s` },
  };
}

/** @param json SQL with the value text or null */
function inline(name: string, json: string): Part {
  return { format: `,"${name}":%s`, values: `, ifnull(${json}, 'null')` };
}

export interface EmployeeText {
  readonly maxScore: MaxScore;
  /** Alias of the table; `e` by default. */
  readonly alias?: string;
  readonly opening?: string;
  /** The arguments of the placeholders in the opening, each before a comma. */
  readonly openingValues?: string;
  readonly isEmployerExpanded?: boolean;
  /** With its own employer. */
  readonly isManagerExpanded?: boolean;
}

export function employeeText(options: EmployeeText): string {
  const { alias: e = 'e', opening = '{', openingValues = '' } = options;
  const head =
    `${opening}"__KEY":"%d","__TIMESTAMP":"%s","__STAMP":%d,"ID":%d,"firstName":%s,"lastName":%s,"email":%s,` +
    '"birthDate":%s,"hiredAt":%s,"salary":%s,"active":%s,"city":%s,"jobTitle":%s,"score":%s';
  const values = `${openingValues}${e}."ID", ${e}."__TIMESTAMP", ${e}."__STAMP", ${e}."ID", json_quote(${e}."firstName"),
    json_quote(${e}."lastName"), json_quote(${e}."email"), json_quote(${e}."birthDate"), json_quote(${e}."hiredAt"),
    ifnull(${e}."salary", 'null'), ${boolean(`${e}."active"`)}, json_quote(${e}."city"), json_quote(${e}."jobTitle"),
    ifnull(${e}."score", 'null')`;
  return entity(head, values, [employer(e, options), manager(e, options)]);
}

/** An employee with both values over the reports by one search. */
export const reportsText = `format('{"__KEY":"%d","__TIMESTAMP":"%s","__STAMP":%d,"lastName":%s,%s}', e."ID", e."__TIMESTAMP", e."__STAMP",
  json_quote(e."lastName"), (select format('"reportCount":%d,"reportSalaries":%s', count(*), total(r."salary"))
    from "Employee" r where r."managerID" = e."ID"))`;

/** A subquery, not a join: a join is made for the rows, too, that `offset` passes over. */
function employer(e: string, { isEmployerExpanded = false }: EmployeeText): Part {
  if (!isEmployerExpanded) return deferred('employer', 'Company', `${e}."employerID"`);
  const company = `(select ${companyText()} from "Company" c where c."ID" = ${e}."employerID")`;
  return inline('employer', company);
}

function manager(e: string, { maxScore, isManagerExpanded = false }: EmployeeText): Part {
  const from = `from "Employee" m where m."ID" = ${e}."managerID"${andSeen('m', maxScore)}`;
  if (isManagerExpanded) {
    const text = employeeText({ maxScore, alias: 'm', isEmployerExpanded: true });
    return inline('manager', `(select ${text} ${from})`);
  }
  if (maxScore === undefined) return deferred('manager', 'Employee', `${e}."managerID"`);
  const uri = `format('{"__deferred":{"uri":"/rest/Employee(%d)","__KEY":"%d"}}', m."ID", m."ID")`;
  return inline('manager', `(select ${uri} ${from})`);
}

const companyHead =
  '{"__KEY":"%d","__TIMESTAMP":"%s","__STAMP":%d,"ID":%d,"name":%s,"city":%s,"country":%s,"founded":%s,' +
  '"revenue":%s,"active":%s';
const companyValues = `c."ID", c."__TIMESTAMP", c."__STAMP", c."ID", json_quote(c."name"), json_quote(c."city"),
  json_quote(c."country"), json_quote(c."founded"), ifnull(c."revenue", 'null'), ${boolean('c."active"')}`;

export function companyText(): string {
  const staff = ',"staff":{"__deferred":{"uri":"/rest/Company(%d)/staff?$expand=staff"}}';
  return entity(companyHead, companyValues, [{ format: staff, values: ', c."ID"' }]);
}

const firstPage = { order: 'e."ID"', top: 100 };
export const earnersPage = { order: 'e."salary" desc, e."ID"', top: 3 };

/**
 * A company with a page of its staff. Long texts are put together by `concat`, which measures first and copies once; a page that
 * is not full has been counted already.
 * @param stamp SQL that gives the global stamp
 */
export function companyWithStaff(
  employee: string,
  stamp: string,
  maxScore: MaxScore,
  { order, top } = firstPage,
): string {
  const employed = `where e."employerID" = c."ID"${andSeen('e', maxScore)}`;
  // Keys first where employees are sorted, as only those of the page are written.
  const employees =
    order === firstPage.order
      ? `select ${employee} as j from "Employee" e ${employed} order by ${order} limit ${top}`
      : `select ${employee} as j from (select e."ID" as k from "Employee" e ${employed} order by ${order} limit ${top})
          cross join "Employee" e on e."ID" = k`;
  return `concat(format('${companyHead}', ${companyValues}), (
    select concat(',"staff":{"__ENTITYSET":"/rest/Company(', c."ID", ')/staff?$expand=staff","__GlobalStamp":', ${stamp},
      ',"__COUNT":', iif(count(*) < ${top}, count(*), (select count(*) from "Employee" e ${employed})), ',"__SENT":', count(*),
      ',"__FIRST":0,"__ENTITIES":[', group_concat(j), ']}')
    from (${employees})), '}')`;
}

function boolean(column: string): string {
  return `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`;
}
