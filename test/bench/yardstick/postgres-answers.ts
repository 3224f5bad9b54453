import type { MaxScore } from './conditions.js';
import type { Ask } from './postgres-ask.js';
import type { Known, PageStatement } from './postgres-known.js';
import {
  companyColumns,
  earnersPage,
  employeeColumns,
  employeesWhere,
  orders,
  savedColumns,
  staffOf,
} from './postgres-text.js';
import { type Filter, type Order, type PageQuery, topEarners } from './query.js';

/** JSON as it is sent; nothing for what is not there or not understood. */
export type PostgresAnswer = string | undefined;

/** A page of an entity set. */
export interface SetPage {
  readonly keys: Uint32Array;
  /** The number of employees of the whole set. */
  readonly count: number;
  readonly first: number;
  /** What the answer begins with. */
  readonly head: string;
}

/** Reads what may be seen below a score. */
export class PostgresAnswers {
  constructor(
    private readonly ask: Ask,
    private readonly known: Known,
    private readonly maxScore: MaxScore,
  ) {}

  async employee(key: number): Promise<PostgresAnswer> {
    const [row] = await this.ask(
      `one ${String(this.maxScore)}`,
      () => this.#one(`'Employee' as "__entityModel"`),
      [key],
    );
    return row?.[0] as PostgresAnswer;
  }

  /** As the answer to a save. */
  async saved(key: number): Promise<PostgresAnswer> {
    const write = (): string => this.#one(savedColumns);
    const [row] = await this.ask(`saved ${String(this.maxScore)}`, write, [key]);
    return row?.[0] as PostgresAnswer;
  }

  #one(first: string): string {
    const { maxScore } = this;
    const where = employeesWhere(undefined, maxScore, 'e."ID" = $1');
    const columns = `${first}, ${employeeColumns({ maxScore })}`;
    return `select row_to_json(r)::text${this.ask.isAllowed} from (select ${columns} from "Employee" e ${where}) r`;
  }

  employees(query: PageQuery): Promise<string> {
    const { skip, top, filter, order, expand, after } = query;
    const { maxScore } = this;
    if (after !== undefined) return this.#behind(after, top);
    if (query.isOfReports) return this.#reports(query);
    const rows = (): string => {
      const [limit, offset] = filter === undefined ? ['$1', '$2'] : ['$2', '$3'];
      const columns = employeeColumns({ maxScore, isEmployerExpanded: expand === 'employer' });
      const page = `order by ${orders[order]} limit ${limit} offset ${offset}`;
      const where = employeesWhere(filter?.by, maxScore);
      // Around the page: PostgreSQL computes the columns of skipped rows, too.
      if (order === 'ID')
        return `select ${columns} from (select * from "Employee" e ${where} ${page}) e`;
      // Keys first, so that only rows of the page are sorted and read whole.
      return `select ${columns} from (select e."ID" as k from "Employee" e ${where} ${page}) s
        join "Employee" e on e."ID" = s.k order by ${orders[order]}`;
    };
    return this.#page('Employee', skip, {
      name: `${String(maxScore)} ${order} ${filter?.by ?? ''} ${expand ?? ''}`,
      counted: `${String(maxScore)} ${filter?.by ?? ''} ${filter?.value ?? ''}`,
      rows,
      count: () => `select count(*) from "Employee" e ${employeesWhere(filter?.by, maxScore)}`,
      values: [...boundTo(filter), top, skip],
    });
  }

  async #behind(after: number, top: number): Promise<string> {
    const { maxScore } = this;
    const where = employeesWhere(undefined, maxScore, 'e."ID" > $1');
    const { stamp, count, sent, list } = await this.known.page(this.ask, {
      name: `behind ${String(maxScore)}`,
      counted: `${String(maxScore)}  `,
      rows: () =>
        `select ${employeeColumns({ maxScore })} from "Employee" e ${where} order by e."ID" limit $2`,
      count: () => `select count(*) from "Employee" e ${employeesWhere(undefined, maxScore)}`,
      values: [after, top],
    });
    // Only an employee of the page begins with a key: a text has its quotes escaped.
    const last = list.slice(list.lastIndexOf('{"__KEY":"'));
    const next = sent < top ? 'null' : `"${String(/\d+/.exec(last)?.[0])}"`;
    return `{"__entityModel":"Employee","__GlobalStamp":${stamp},"__COUNT":${count},"__SENT":${sent},"__ENTITIES":${list},"__NEXT":${next}}`;
  }

  /** A page of employees with the number and the salaries of those whom they manage. */
  #reports({ skip, top }: PageQuery): Promise<string> {
    const where = employeesWhere(undefined, this.maxScore);
    return this.#page('Employee', skip, {
      name: `reports ${String(this.maxScore)}`,
      counted: `${String(this.maxScore)}  `,
      rows: () => `select e."ID"::text as "__KEY", e."__TIMESTAMP", e."__STAMP", e."lastName", r.* from (
        select * from "Employee" e ${where} order by e."ID" limit $1 offset $2) e cross join lateral (
        select count(*) as "reportCount", coalesce(sum(r."salary"), 0) as "reportSalaries" from "Employee" r where r."managerID" = e."ID") r`,
      count: () => `select count(*) from "Employee" e ${where}`,
      values: [top, skip],
    });
  }

  /** So many cities, those with the greatest sums of salaries. */
  async groups(top: number): Promise<string> {
    const where = employeesWhere(undefined, this.maxScore);
    const { stamp, count, sent, list } = await this.known.page(this.ask, {
      name: `groups ${String(this.maxScore)}`,
      counted: `${String(this.maxScore)} cities`,
      rows: () => `select min(e."city") as "city", count(*) as "count", coalesce(sum(e."salary"), 0) as "sum(salary)"
        from "Employee" e ${where} group by e."__folded_city" order by 3 desc, e."__folded_city" nulls first limit $1`,
      count: () =>
        `select count(*) from (select from "Employee" e ${where} group by e."__folded_city") g`,
      values: [top],
    });
    return `{"__entityModel":"Employee","__GlobalStamp":${stamp},"__COUNT":${count},"__SENT":${sent},"__FIRST":0,"__GROUPS":${list}}`;
  }

  companies({ skip, top, expand }: PageQuery): Promise<string> {
    const { maxScore } = this;
    const stamp = this.known.stampAt(3);
    const rows = (): string => {
      const isManagerExpanded = expand === 'staff.manager.employer';
      const columns =
        expand === undefined
          ? companyColumns()
          : companyColumns(
              staffOf(
                employeeColumns({ maxScore, isManagerExpanded }),
                maxScore,
                stamp.text,
                expand === topEarners ? earnersPage : undefined,
              ),
            );
      return `select ${columns} from (select * from "Company" c order by c."ID" limit $1 offset $2) c`;
    };
    return this.#page('Company', skip, {
      name: `companies ${String(maxScore)} ${expand ?? ''}`,
      counted: 'Company',
      rows,
      count: () => 'select count(*) from "Company"',
      values: [top, skip, ...(expand === undefined ? [] : stamp.values)],
    });
  }

  async members({ keys, count, first, head }: SetPage): Promise<string> {
    const stamp = this.known.stampAt(2);
    const [row] = await this.ask(
      'members',
      () => `select ${stamp.text}::int, count(*)::int, coalesce(json_agg(s.j order by s.n), '[]')::text from (
        select k.n, case when e."ID" is null then '{"__STAMP":0}'::json
          else (select row_to_json(r) from (select ${employeeColumns({ maxScore: this.maxScore })}) r) end as j
        from unnest($1::bigint[]) with ordinality k (id, n) left join "Employee" e on e."ID" = k.id) s`,
      [[...keys], ...stamp.values],
    );
    const [at, sent, list] = row as [number, number, string];
    return `{${head}"__entityModel":"Employee",${envelope(at, count, sent, first, list)}`;
  }

  async salaries(): Promise<string> {
    const [row] = await this.ask(
      `salaries ${String(this.maxScore)}`,
      () => `select json_build_object('salary', json_build_object('count', count(e."salary"), 'sum', sum(e."salary"),
        'average', sum(e."salary") / count(e."salary"), 'min', min(e."salary"), 'max', max(e."salary")))::text${this.ask.isAllowed}
        from "Employee" e ${employeesWhere(undefined, this.maxScore)}`,
      [],
    );
    return String(row?.[0]);
  }

  /** The keys of employees, separated by commas. */
  async keys(filter: Filter | undefined, order: Order): Promise<string | null> {
    const [row] = await this.ask(
      `keys ${order} ${filter?.by ?? ''}`,
      () => `select string_agg(s.k::text, ',') from (
        select e."ID" as k from "Employee" e ${employeesWhere(filter?.by, this.maxScore)} order by ${orders[order]}) s`,
      boundTo(filter),
    );
    return row?.[0] as string | null;
  }

  async payroll(filter: Filter): Promise<unknown> {
    const write = (): string =>
      `select sum(e."salary") from "Employee" e ${employeesWhere(filter.by, undefined)}`;
    const [row] = await this.ask(`payroll ${filter.by}`, write, boundTo(filter));
    return row?.[0] ?? 0;
  }

  async salaryList(filter: Filter, count: unknown): Promise<unknown> {
    if (!Number.isSafeInteger(count)) throw new TypeError('count is no integer.');
    const rows = await this.ask(
      `salaryList ${filter.by}`,
      () => `select e."firstName", e."lastName", e."salary" from "Employee" e ${employeesWhere(filter.by, undefined)}
        order by ${orders.lastName} limit $2`,
      [filter.value, count],
    );
    return rows.map(([firstName, lastName, salary]) => ({
      name: `${textOf(firstName)} ${textOf(lastName)}`,
      monthly: salary === null ? null : Math.round(Number(salary) / 12),
    }));
  }

  async #page(dataclass: string, skip: number, statement: PageStatement): Promise<string> {
    const { stamp, count, sent, list } = await this.known.page(this.ask, statement);
    return `{"__entityModel":"${dataclass}",${envelope(stamp, count, sent, skip, list)}`;
  }
}

function envelope(stamp: number, count: number, sent: number, first: number, list: string): string {
  return `"__GlobalStamp":${stamp},"__COUNT":${count},"__SENT":${sent},"__FIRST":${first},"__ENTITIES":${list}}`;
}

function boundTo(filter: Filter | undefined): readonly unknown[] {
  return filter === undefined ? [] : [filter.value];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
