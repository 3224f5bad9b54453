import type { FastifyInstance } from 'fastify';
import { modelOf, serverOf } from './server.js';

export const model = `
drs: 1
name: computed
limits: { pageSize: 100 }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      shout: { computed: string, accessors: [get, query, orderBy] }
      staff: { to: Employee, many: true, inverse: employer }
    functions:
      dataclass:
        renamed: { params: { person: Employee, text: string }, returns: Employee, exposed: true }
        found: { params: { text: string }, returns: "string[]", exposed: true }
        namedLike: { params: { text: string }, returns: Employee.selection, exposed: true }
  Employee:
    attributes:
      code: { type: string, key: true }
      firstName: string
      lastName: { type: string, mandatory: true }
      salary: number
      born: { type: date, dateOnly: true }
      secret: { type: string, exposed: false }
      employer: { to: Company }
      fullName: { computed: string, accessors: [get, set, query, orderBy] }
      plainName: { computed: string, expression: "firstName || ' ' || lastName" }
      pay: { computed: number, accessors: [get] }
      isRich: { computed: boolean, accessors: [get, query] }
      birthday: { computed: date, dateOnly: true, accessors: [get, query] }
      hired: { computed: date, accessors: [get, query] }
      profile: { computed: object, accessors: [get, set] }
      bad: { computed: integer, accessors: [get, query, orderBy] }
      loop: { computed: string, accessors: [get, query, orderBy] }
`;

const companyClass = `
import { CompanyBase, type ComputedQuery, type ComputedOrder, type FilterWithValues, type EmployeeEntity, type EmployeeSelection } from '../generated/api.js';
export class Company extends CompanyBase {
  async queryShout({ operator, value }: ComputedQuery): Promise<FilterWithValues> {
    await Promise.resolve();
    const text = typeof value === 'string' ? value.replace(/!$/, '') : value;
    return { filter: 'name ' + operator + ' :1', values: [text] };
  }
  orderByShout({ direction }: ComputedOrder): string {
    return 'name ' + direction;
  }
  renamed(person: EmployeeEntity, text: string): EmployeeEntity {
    if (text !== '') person.fullName = text;
    return person;
  }
  async found(text: string): Promise<string[]> {
    const all = this.ds.Employee.query('fullName begin :1 or employer.shout = :1', text);
    const names: string[] = [String(await all.count())];
    for (const each of await all.orderBy('fullName desc').toArray()) names.push(String(each.fullName));
    names.push(String(await all.orderBy('fullName').slice(0, 1).contains((await all.orderBy('fullName').first())!)));
    return names;
  }
  namedLike(text: string): EmployeeSelection {
    return this.ds.Employee.query('fullName = :1 order by fullName desc', text);
  }
}
`;

const companyEntity = `
import { CompanyEntityBase } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  get shout(): string | null {
    return this.name === null ? null : this.name + '!';
  }
}
`;

const employeeClass = `
import { EmployeeBase, type ComputedQuery, type ComputedOrder, type FilterWithValues } from '../generated/api.js';
const asked: unknown[] = ((globalThis as Record<string, unknown>)['drsAsked'] ??= []) as unknown[];
export class Employee extends EmployeeBase {
  queryFullName(query: ComputedQuery): FilterWithValues {
    asked.push(query);
    const { operator, value } = query;
    if (operator === '=' && typeof value === 'string') {
      const at = value.indexOf(' ');
      return at < 0
        ? { filter: 'firstName = null and lastName = null and ID1 = 0'.replace(' and ID1 = 0', ''), values: [] }
        : { filter: 'firstName = :1 and lastName = :2', values: [value.slice(0, at), value.slice(at + 1)] };
    }
    return { filter: 'plainName ' + operator + ' :1', values: [value] };
  }
  orderByFullName({ direction }: ComputedOrder): string {
    return 'lastName ' + direction + ', firstName ' + direction;
  }
  queryIsRich({ value }: ComputedQuery): FilterWithValues {
    return { filter: value === true ? 'salary > 1000' : 'not (salary > 1000)', values: [] };
  }
  queryBirthday(query: ComputedQuery): FilterWithValues {
    asked.push(query);
    return { filter: 'born ' + query.operator + ' :1', values: [query.value] };
  }
  queryHired(query: ComputedQuery): FilterWithValues {
    asked.push(query);
    return { filter: 'secret = :1', values: ['x'] };
  }
  queryBad({ value }: ComputedQuery): FilterWithValues {
    if (value === 1) return { filter: 'nowhere = 1' };
    if (value === 2) return { filter: 'firstName = ' };
    if (value === 3) return { filter: 'firstName = :1', values: [] };
    if (value === 4) return { filter: 'firstName = :1 order by firstName', values: ['a'] };
    if (value === 5) return 'text' as unknown as FilterWithValues;
    if (value === 6) return { filter: 'pay > 1' };
    throw new Error('no such value');
  }
  orderByBad(): string {
    return 'nowhere';
  }
  queryLoop({ operator, value }: ComputedQuery): FilterWithValues {
    return { filter: 'loop ' + operator + ' :1', values: [value] };
  }
  orderByLoop(): string {
    return 'loop';
  }
}
`;

const employeeEntity = `
import { EmployeeEntityBase, RestError } from '../generated/api.js';
export class EmployeeEntity extends EmployeeEntityBase {
  get fullName(): string | null {
    return this.firstName === null ? null : this.firstName + ' ' + this.lastName;
  }
  set fullName(value: string | null) {
    if (value === 'throw') throw new Error('the setter fails');
    if (value === null) {
      this.lastName = null as unknown as string;
      return;
    }
    const at = value.indexOf(' ');
    this.firstName = at < 0 ? null : value.slice(0, at);
    this.lastName = value.slice(at + 1);
  }
  get pay(): number | null {
    return this.salary === null ? null : this.salary * 2;
  }
  get isRich(): boolean | null {
    return (this.salary ?? 0) > 1000;
  }
  get birthday(): string | null {
    return this.born;
  }
  get hired(): Date | null {
    return this.born === null ? null : new Date(this.born + 'T08:00:00Z');
  }
  get profile(): unknown {
    return { by: this.session.userName, key: this.key, text: '\\u0001' };
  }
  set profile(value: unknown) {
    this.salary = (value as { salary: number }).salary;
  }
  get bad(): number | null {
    if (this.firstName === 'rest') throw new RestError(409, 4711, 'told');
    if (this.firstName === 'text') return 'no number' as unknown as number;
    if (this.firstName === 'promise') return Promise.resolve(1) as unknown as number;
    if (this.firstName === 'throw') throw new Error('the getter fails');
    return 7;
  }
  get loop(): string | null {
    return null;
  }
}
`;

/** The arguments of the accessors `query` of the last server. */
export function asked(): unknown[] {
  return ((globalThis as Record<string, unknown>)['drsAsked'] ??= []) as unknown[];
}

export interface ComputedServer {
  readonly app: FastifyInstance;
  readonly sql: string[];
  readonly logged: string[];
}

/** A server whose attributes class code computes. */
export async function computedServer(yaml: string = model): Promise<ComputedServer> {
  const sql: string[] = [];
  const logged: string[] = [];
  const app = await serverOf(
    modelOf(yaml),
    {
      onStatement: (text) => {
        sql.push(text);
      },
      logger: {
        level: 'error',
        stream: {
          write: (line: string) => {
            logged.push(line);
          },
        },
      },
    },
    {
      'src/classes/Company.ts': companyClass,
      'src/classes/CompanyEntity.ts': companyEntity,
      'src/classes/Employee.ts': employeeClass,
      'src/classes/EmployeeEntity.ts': employeeEntity,
    },
  );
  return { app, sql, logged };
}
