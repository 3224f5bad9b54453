import type { FastifyInstance } from 'fastify';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { Client } from './cookies.js';
import { rolesServerOf } from './roles-server.js';

/** A text in every restricted entity. */
export const secret = 'zqsecretqz';

export const restrictedModel = `
drs: 1
name: staff
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true, mandatory: true }
      area: { type: string, exposed: false }
      staff: { to: Employee, many: true, inverse: employer }
    restrict: true
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, indexed: true }
      email: { type: string, unique: true }
      salary: { type: number, indexed: true }
      photo: image
      raw: blob
      employer: { to: Company, inverse: staff, foreignKey: employerID, onDelete: cascade }
      employerID: integer
      employerName: { alias: employer.name }
      boss: { to: Employee, onDelete: setNull }
      mentor: { to: Employee, onDelete: restrict }
      letters: { to: Letter, many: true, inverse: employee }
    restrict: true
    functions:
      dataclass:
        count: { exposed: true, returns: number }
        everybody: { exposed: true, returns: Employee.selection }
        nameOf: { exposed: true, params: { employee: Employee }, returns: string }
        sum: { exposed: true, params: { of: Employee.selection }, returns: number }
        rename: { exposed: true, params: { key: integer, name: string }, returns: string }
        make: { exposed: true, params: { name: string, salary: number }, returns: any }
        makeWider: { exposed: true, params: { name: string, salary: number }, returns: any }
        wider: { exposed: true, returns: any }
        leak: { exposed: true, params: { name: string }, returns: Employee }
        leaks: { exposed: true, returns: "Employee[]" }
        draft: { exposed: true, params: { key: integer, boss: integer }, returns: Employee }
        become: { exposed: true, params: { user: string }, returns: Employee.selection }
      entity:
        tell: { exposed: true, returns: string }
  Letter:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      employee: { to: Employee, inverse: letters, onDelete: restrict }
  Seat:
    attributes:
      ID: { type: string, key: true }
      owner: { to: Employee, onDelete: setNull }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }, { privilege: broken }, { privilege: north }, { privilege: south }]
`;

const company = `
import { CompanyBase } from '../generated/api.js';
import type { Restriction, Session } from '../generated/api.js';
export class Company extends CompanyBase {
  restrict(session: Session): Restriction {
    if (session.hasPrivilege('north')) return { filter: 'area = :1', values: ['north'] };
    if (session.hasPrivilege('south')) return { filter: 'area = :1', values: ["so'uth\\""] };
    return null;
  }
}
`;

const employee = `
import { EmployeeBase, RestError } from '../generated/api.js';
import type { EmployeeEntity, EmployeeSelection, Restriction, Session } from '../generated/api.js';
export class Employee extends EmployeeBase {
  async restrict(session: Session): Promise<Restriction> {
    if (session.userName === 'throws') throw new Error('${secret}');
    if (session.userName === 'rest') throw new RestError(418, 7, 'not now');
    if (session.userName === 'wrong') return 'nothing = 1';
    if (session.userName === 'empty') return '';
    if (session.userName === 'nothing') return undefined as never;
    if (session.userName === 'values') return { filter: 'salary = :1', values: [] };
    if (session.userName === 'poor') return { filter: 'salary < :1', values: [await this.limit()] };
    if (session.userName === 'poorer') return { filter: 'salary < :1', values: [50] };
    if (session.userName === 'led') return 'boss.ID != null';
    if (session.userName === 'hostile') return { filter: 'name = :1', values: ["' or 1=1 --"] };
    if (session.hasPrivilege('all')) return null;
    return { filter: 'employer.area = :a', values: [{ a: session.hasPrivilege('north') ? 'north' : "so'uth\\"" }] };
  }
  async limit(): Promise<number> {
    return (await this.ds.Employee.all().count()) * 0 + 100;
  }
  count(): Promise<number> { return this.all().count(); }
  everybody(): EmployeeSelection { return this.all(); }
  nameOf(employee: EmployeeEntity): string { return employee.name; }
  sum(of: EmployeeSelection): Promise<number> { return of.count(); }
  async rename(key: number, name: string): Promise<string> {
    const found = await this.get(key);
    if (found === null) return 'none';
    found.name = name;
    await found.save();
    return 'done';
  }
  async make(name: string, salary: number): Promise<unknown> {
    const made = this.new({ name, salary });
    await made.save();
    return [made.name, (await this.get(made.ID)) === null];
  }
  makeWider(name: string, salary: number): Promise<unknown> {
    return this.session.promote('all', () => this.make(name, salary));
  }
  leak(name: string): Promise<EmployeeEntity> {
    return this.session.promote('all', async () => {
      const found = await this.ds.Employee.query('name = :1', name).first();
      if (found === null) throw new Error('There is no ' + name);
      return found;
    });
  }
  leaks(): Promise<EmployeeEntity[]> {
    return this.session.promote('all', () => this.ds.Employee.all().toArray());
  }
  async draft(key: number, boss: number): Promise<EmployeeEntity> {
    const draft = (await this.get(key)) ?? this.new({ name: 'Draft' });
    draft.boss.set(boss);
    return draft;
  }
  become(user: string): EmployeeSelection {
    this.session.setPrivileges({ userName: user });
    return this.all();
  }
  async wider(): Promise<unknown> {
    const before = await this.all().count();
    const within = await this.session.promote('all', () => this.ds.Employee.all().count());
    const inTransaction = await this.ds.transaction(() =>
      this.session.promote('all', () => this.ds.Employee.all().count()),
    );
    return [before, within, inTransaction, await this.all().count()];
  }
}
`;

const employeeEntity = `
import { EmployeeEntityBase } from '../generated/api.js';
export class EmployeeEntity extends EmployeeEntityBase {
  tell(): string { return this.name; }
}
`;

const classes = {
  'src/classes/Company.ts': company,
  'src/classes/Employee.ts': employee,
  'src/classes/EmployeeEntity.ts': employeeEntity,
};

const eventNames = ['validateSave', 'saving', 'afterSave', 'validateDrop', 'dropping', 'afterDrop'];

/** Names of the entities whose events ran. */
export const eventsOf: string[] = [];
Object.assign(globalThis, { eventsOfRestricted: eventsOf });

/** What `saving` does to some employees. */
const raised = " if (this.name === 'raised') this.salary = 999;";

function evented(name: string, base: string): string {
  const methods = eventNames.map((each) => {
    const raise = each === 'saving' && name === 'Employee' ? raised : '';
    return `  ${each}(): undefined { eventsOfRestricted.push('${each} ' + this.name);${raise} }`;
  });
  return `${base.trimEnd().replace(/\}$/, '')}${methods.join('\n')}\n}\n`.replace(
    /^/,
    `/* ${name} */ declare const eventsOfRestricted: string[];\n`,
  );
}

const companyEntity = `
import { CompanyEntityBase } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
}
`;

/**
 * A server whose dataclasses have restrict, and whose entities may have events.
 * @param ofWrites whether restrict decides about what is stored, too
 */
export function restrictedServer(
  options: AppOptions = {},
  hasEvents = false,
  ofWrites = false,
): Promise<FastifyInstance> {
  const restrict = ofWrites ? 'restrict: { writes: true }' : 'restrict: true';
  const restricted = restrictedModel.replaceAll('restrict: true', restrict);
  if (!hasEvents) return rolesServerOf(restricted, options, classes);
  const model = restricted.replaceAll(
    restrict,
    `${restrict}\n    events: [${eventNames.join(', ')}]`,
  );
  return rolesServerOf(model, options, {
    ...classes,
    'src/classes/CompanyEntity.ts': evented('Company', companyEntity),
    'src/classes/EmployeeEntity.ts': evented('Employee', employeeEntity),
  });
}

/** A client that is logged in by a name, with privileges. */
export async function restrictedClient(
  app: FastifyInstance,
  name: string,
  privileges: readonly string[],
): Promise<Client> {
  const client = new Client(app);
  const credentials = [name, JSON.stringify({ privileges }), 3600];
  const response = await client.post('/rest/$directory/login', credentials);
  if (response.statusCode !== 200) throw new Error(response.body);
  return client;
}
