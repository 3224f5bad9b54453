/**
 * Additions to `model.yaml` for the generated servers of the bench: class code, roles,
 * restrictions, aggregates, audit, jobs.
 */
export type VariantName =
  'plain' | 'functions' | 'roles' | 'restrict' | 'texts' | 'aggregates' | 'live' | 'audit' | 'jobs';

export interface Variant {
  /** Appended to `model.yaml`, which ends with the attributes of Employee. */
  readonly model: string;
  /** Files of the user, by their path in the project. */
  readonly files: Readonly<Record<string, string>>;
}

const functions = `
    functions:
      selection:
        payroll: { exposed: true, returns: number }
        salaryList: { exposed: true, params: { count: integer }, returns: 'object[]' }
`;

/** One function that is a single statement, and one that works with entities. */
const selectionClass = `import { EmployeeSelectionBase, type JsonObject } from '../generated/api.js';

export class EmployeeSelection extends EmployeeSelectionBase {
  async payroll(): Promise<number> {
    return (await this.sum('salary')) ?? 0;
  }

  async salaryList(count: number): Promise<readonly JsonObject[]> {
    const employees = await this.orderBy('lastName').slice(0, count).toArray();
    return employees.map(({ firstName, lastName, salary }) => ({
      name: \`\${firstName ?? ''} \${lastName ?? ''}\`,
      monthly: salary === null ? null : Math.round(salary / 12),
    }));
  }
}
`;

const roles = `
roles:
  restrictedByDefault: false
  forceLogin: false
  privileges:
    - { privilege: viewStaff, includes: [] }
    - { privilege: manageStaff, includes: [viewStaff] }
  permissions:
    allowed:
      - { applyTo: Company, type: dataclass, read: [viewStaff], create: [manageStaff], update: [manageStaff], drop: [manageStaff] }
      - { applyTo: Employee, type: dataclass, read: [viewStaff], create: [manageStaff], update: [manageStaff], drop: [manageStaff] }
`;

const login = `export function login(user: string): Promise<{ userName: string; privileges: string[] }> {
  return Promise.resolve({ userName: user, privileges: ['manageStaff'] });
}
`;

/** A dataclass whose keys are texts. */
const notes = `
  Note:
    attributes:
      code: { type: string, key: true }
      score: integer
`;

/** Values over the employees whom an employee manages. */
const aggregates = `      reports: { to: Employee, many: true, inverse: manager }
      reportCount: { aggregate: count(reports) }
      reportSalaries: { aggregate: sum(reports.salary) }
`;

/** Most employees are visible; the value comes from the session. */
const restrictedClass = `import { EmployeeBase, type Restriction, type Session } from '../generated/api.js';

export class Employee extends EmployeeBase {
  restrict(session: Session): Restriction {
    return { filter: 'score < :1', values: [session.userName === 'mia' ? 900 : 100] };
  }
}
`;

/** A job for each change of an employee. */
const jobs = `
    events: [afterSave]
jobs:
  note: { params: { employee: integer } }
`;

const entityClass = `import { EmployeeEntityBase } from '../generated/api.js';

export class EmployeeEntity extends EmployeeEntityBase {
  async afterSave(): Promise<void> {
    await this.ds.enqueue('note', { employee: this.ID });
  }
}
`;

const noteJob = `import type { Job } from '../generated/jobs.js';

export const run: Job<'note'> = () => Promise.resolve();
`;

export const variants: Readonly<Record<VariantName, Variant>> = {
  plain: { model: '', files: {} },
  live: { model: '\n    live: true\n', files: {} },
  audit: { model: '\n    audit: true\n', files: {} },
  jobs: {
    model: jobs,
    files: { 'src/classes/EmployeeEntity.ts': entityClass, 'src/jobs/note.ts': noteJob },
  },
  functions: {
    model: functions,
    files: { 'src/classes/EmployeeSelection.ts': selectionClass },
  },
  roles: { model: roles, files: { 'src/login.ts': login } },
  restrict: {
    model: `\n    restrict: true\n${roles}`,
    files: { 'src/login.ts': login, 'src/classes/Employee.ts': restrictedClass },
  },
  texts: { model: notes, files: {} },
  aggregates: { model: aggregates, files: {} },
};
