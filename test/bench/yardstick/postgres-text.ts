import type { MaxScore } from './conditions.js';
import type { FilteredBy, Order } from './query.js';

/** Conditions over `e`, each with the value `$1`. */
const filters: Readonly<Record<FilteredBy, string>> = {
  city: 'e."__folded_city" = $1',
  score: 'e."score" < $1',
  salary: 'e."salary" > $1',
};

export const orders: Readonly<Record<Order, string>> = {
  ID: 'e."ID"',
  lastName: 'e."__folded_lastName" nulls first, e."ID"',
};

/** @param further conditions over `e` */
export function employeesWhere(
  filter: FilteredBy | undefined,
  maxScore: MaxScore,
  ...further: readonly string[]
): string {
  const all = [
    ...further,
    ...(filter === undefined ? [] : [filters[filter]]),
    ...(maxScore === undefined ? [] : [`e."score" < ${maxScore}`]),
  ];
  return all.length === 0 ? '' : `where ${all.join(' and ')}`;
}

export interface EmployeeColumns {
  readonly maxScore: MaxScore;
  /** The alias of the table: `e` by default. */
  readonly alias?: string;
  readonly isEmployerExpanded?: boolean;
  /** With its own employer. */
  readonly isManagerExpanded?: boolean;
}

/** The columns of a row whose JSON is an employee: `json_agg` of rows costs less than `json_build_object` or `concat`. */
export function employeeColumns(options: EmployeeColumns): string {
  const { alias: e = 'e' } = options;
  return `${e}."ID"::text as "__KEY", ${e}."__TIMESTAMP", ${e}."__STAMP", ${e}."ID", ${e}."firstName", ${e}."lastName", ${e}."email",
    ${e}."birthDate", ${e}."hiredAt", ${e}."salary", ${e}."active" = 1 as "active", ${e}."city", ${e}."jobTitle", ${e}."score",
    ${employer(e, options)} as "employer", ${manager(e, options)} as "manager"`;
}

/** What an employee that was saved has besides. */
export const savedColumns = `'Employee' as "__entityModel", '{"success":true}'::json as "__STATUS",
  '/rest/Employee(' || e."ID" || ')' as "uri"`;

function employer(e: string, { isEmployerExpanded = false }: EmployeeColumns): string {
  if (!isEmployerExpanded) return deferred('Company', `${e}."employerID"`);
  return `(select row_to_json(r) from (select ${companyColumns()} from "Company" c where c."ID" = ${e}."employerID") r)`;
}

function manager(e: string, { maxScore, isManagerExpanded = false }: EmployeeColumns): string {
  const seen = maxScore === undefined ? '' : ` and m."score" < ${maxScore}`;
  const from = `from "Employee" m where m."ID" = ${e}."managerID"${seen}`;
  if (isManagerExpanded) {
    const columns = employeeColumns({ maxScore, alias: 'm', isEmployerExpanded: true });
    return `(select row_to_json(r) from (select ${columns} ${from}) r)`;
  }
  if (maxScore === undefined) return deferred('Employee', `${e}."managerID"`);
  return `(select ${deferred('Employee', 'm."ID"')} ${from})`;
}

/** Null where the key is. */
function deferred(dataclass: string, key: string): string {
  return `('{"__deferred":{"uri":"/rest/${dataclass}(' || ${key} || ')","__KEY":"' || ${key} || '"}}')::json`;
}

/** @param staff what stands for the employees */
export function companyColumns(
  staff = `('{"__deferred":{"uri":"/rest/Company(' || c."ID" || ')/staff?$expand=staff"}}')::json`,
): string {
  return `c."ID"::text as "__KEY", c."__TIMESTAMP", c."__STAMP", c."ID", c."name", c."city", c."country", c."founded", c."revenue",
    c."active" = 1 as "active", ${staff} as "staff"`;
}

const firstPage = { order: 'e."ID"', top: 100 };
export const earnersPage = { order: 'e."salary" desc nulls last, e."ID"', top: 3 };

/** A page of a company's staff; one that is not full has been counted already. */
export function staffOf(
  employee: string,
  maxScore: MaxScore,
  globalStamp: string,
  { order, top } = firstPage,
): string {
  const from = `from "Employee" e ${employeesWhere(undefined, maxScore, 'e."employerID" = c."ID"')}`;
  return `(select json_build_object('__ENTITYSET', '/rest/Company(' || c."ID" || ')/staff?$expand=staff', '__GlobalStamp', ${globalStamp},
      '__COUNT', case when count(*) < ${top} then count(*) else (select count(*) ${from}) end, '__SENT', count(*), '__FIRST', 0,
      '__ENTITIES', coalesce(json_agg(r), '[]'))
    from (select ${employee} from (select * ${from} order by ${order} limit ${top}) e) r)`;
}
