/** A model with everything that clients of Wakanda use. */
export const model = `
drs: 1
name: shop
protocol: { compatibility: wakanda }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      staff: { to: Employee, many: true, inverse: employer }
      secrets: { to: Secret, many: true, inverse: company }
    functions:
      dataclass:
        sent:
          exposed: true
          params: { first: { type: any, optional: true }, second: { type: any, optional: true } }
          returns: any
        named: { exposed: true, params: { name: string }, returns: Company }
        everything: { exposed: true, returns: Product.selection }
      selection:
        titles: { exposed: true, returns: 'string[]' }
      entity:
        employees: { exposed: true, returns: Employee.selection }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      firstName: string
      lastName: { type: string, mandatory: true, indexed: true }
      salary: number
      active: { type: boolean, default: true }
      birthDate: date
      hiringDate: { type: date, dateOnly: true }
      extra: object
      photo: image
      cv: blob
      employer: { to: Company, inverse: staff }
      employerName: { alias: employer.name }
      colleagues: { alias: employer.staff }
      fullName: { computed: string, accessors: [get, set] }
    functions:
      selection:
        told: { exposed: true, params: { prefix: { type: any, optional: true } }, returns: string }
        oldest: { exposed: true, returns: Employee }
        employers: { exposed: true, returns: Company.selection }
        counted: { exposed: true, returns: integer }
        hidden: { returns: string }
      entity:
        greet: { exposed: true, params: { word: { type: any, optional: true } }, returns: any }
  Product:
    events: [init, clientRefresh]
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      price: number
      inStock: boolean
      kind: { type: string, mandatory: true }
      code: { type: string, readOnly: true }
      gross: { computed: number, accessors: [get] }
  Secret:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      company: { to: Company, inverse: secrets }
    functions:
      selection:
        size: { exposed: true, returns: integer }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: HR }, { privilege: Sales }]
  permissions:
    allowed:
      - { applyTo: Secret, type: dataclass, read: [HR] }
      - { applyTo: Employee.counted, type: method, execute: [HR] }
`;

const company = `
import { CompanyBase } from '../generated/api.js';

export class Company extends CompanyBase {
  sent(...args) {
    return { count: args.length, args };
  }

  async named(name) {
    return this.ds.Company.query('name = :1', name).first();
  }

  everything() {
    return this.ds.Product.all();
  }
}
`;

const companySelection = `
import { CompanySelectionBase } from '../generated/api.js';

export class CompanySelection extends CompanySelectionBase {
  async titles() {
    return (await this.toArray()).map((each) => each.name);
  }
}
`;

const companyEntity = `
import { CompanyEntityBase } from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
  employees() {
    return this.staff;
  }
}
`;

const employeeSelection = `
import { EmployeeSelectionBase } from '../generated/api.js';

export class EmployeeSelection extends EmployeeSelectionBase {
  async told(prefix) {
    const names = (await this.orderBy('lastName').toArray()).map((each) => each.lastName);
    return \`\${prefix} \${names.length}: \${names.join(', ')}\`;
  }

  oldest() {
    return this.orderBy('birthDate desc').first();
  }

  employers() {
    return this.employer;
  }

  counted() {
    return this.count();
  }

  async hidden() {
    return 'hidden';
  }
}
`;

const employeeEntity = `
import { EmployeeEntityBase } from '../generated/api.js';

export class EmployeeEntity extends EmployeeEntityBase {
  async greet(word) {
    return \`\${word}, \${this.lastName} of \${(await this.employer.get()).name}\`;
  }

  get fullName() {
    return [this.firstName, this.lastName].filter((each) => each !== null).join(' ');
  }

  set fullName(value) {
    [this.firstName, this.lastName] = value.split(' ');
  }
}
`;

const productEntity = `
import { ProductEntityBase, RestError } from '../generated/api.js';

export class ProductEntity extends ProductEntityBase {
  init() {
    this.inStock = true;
    this.kind = 'tool';
    this.code = 'c' + String(this.session.userName);
  }

  async clientRefresh() {
    if (this.name === 'refused') throw new RestError(418, 7, 'Not this one.');
    this.name ??= 'Unnamed';
  }

  get gross() {
    return this.price === null ? null : this.price * 1.2;
  }
}
`;

export const classes: Readonly<Record<string, string>> = {
  'src/classes/Company.ts': company,
  'src/classes/CompanySelection.ts': companySelection,
  'src/classes/CompanyEntity.ts': companyEntity,
  'src/classes/EmployeeSelection.ts': employeeSelection,
  'src/classes/EmployeeEntity.ts': employeeEntity,
  'src/classes/ProductEntity.ts': productEntity,
  'src/classes/SecretSelection.ts': `
import { SecretSelectionBase } from '../generated/api.js';

export class SecretSelection extends SecretSelectionBase {
  size() {
    return this.count();
  }
}
`,
};

/** Seven employees: the first five work for the first company. */
export const people = [
  {
    lastName: 'Ada',
    salary: 1000,
    birthDate: '1990-01-02T03:04:05Z',
    hiringDate: '2020-12-31',
    employer: 1,
  },
  { lastName: 'Ben', salary: 2000, employer: 1 },
  { lastName: 'Cid', salary: 3000, employer: 1 },
  { lastName: 'Dan', salary: 4000, employer: 1 },
  { lastName: 'Eve', salary: 5000, employer: 1 },
  { lastName: 'Fay', salary: 6000, employer: 2 },
  { lastName: 'Gus', salary: 7000, employer: 3 },
];
