import type { Database } from 'better-sqlite3';
import { type MaxScore, whereAll } from './conditions.js';
import { text } from './serialize.js';

type Group = readonly [city: string | null, count: number, sum: number];

/** Groups of employees by city, with the greatest sums of salaries first. */
export function groupsOf(
  database: Database,
  maxScore: MaxScore,
): { readonly list: (top: number) => readonly string[]; readonly count: () => number | undefined } {
  const seen = whereAll([], maxScore);
  const groups = database
    .prepare<[number], Group>(
      `select min("city"), count(*), total("salary") from "Employee" ${seen}
        group by "__folded_city" order by 3 desc, "__folded_city" limit cast(? as integer)`,
    )
    .raw();
  const count = database
    .prepare<[], number>(
      `select count(*) from (select 1 from "Employee" ${seen} group by "__folded_city")`,
    )
    .pluck();
  return {
    list: (top) =>
      groups
        .all(top)
        .map(
          ([city, count, sum]) => `{"city":${text(city)},"count":${count},"sum(salary)":${sum}}`,
        ),
    count: () => count.get(),
  };
}

type Reports = readonly [
  id: number,
  timestamp: string,
  stamp: number,
  lastName: string | null,
  count: number,
  salaries: number,
];

/** A page of employees with the number and the salaries of their reports. */
export function reportsOf(
  database: Database,
  maxScore: MaxScore,
): (top: number, skip: number) => readonly string[] {
  const page = database
    .prepare<[number, number], Reports>(
      `select e."ID", e."__TIMESTAMP", e."__STAMP", e."lastName", count(r."ID"), total(r."salary") from (
        select * from "Employee" ${whereAll([], maxScore)} order by "ID" limit cast(? as integer) offset cast(? as integer)
      ) e left join "Employee" r on r."managerID" = e."ID" group by e."ID" order by e."ID"`,
    )
    .raw();
  return (top, skip) =>
    page
      .all(top, skip)
      .map(
        ([id, timestamp, stamp, lastName, count, salaries]) =>
          `{"__KEY":"${id}","__TIMESTAMP":"${timestamp}","__STAMP":${stamp},"lastName":${text(lastName)},"reportCount":${count},"reportSalaries":${salaries}}`,
      );
}
