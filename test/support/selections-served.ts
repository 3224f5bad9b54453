import type { FastifyInstance } from 'fastify';
import { DataclassObject } from '../../runtime/class/objects/dataclass.js';
import { Datastore } from '../../runtime/class/objects/datastore.js';
import { Entity } from '../../runtime/class/objects/entity.js';
import type { DataclassClasses } from '../../runtime/class/objects/registry.js';
import { EntitySelection } from '../../runtime/class/objects/selection.js';
import type { RelatedEntity } from '../../runtime/class/objects/types.js';
import { importFrom } from './compiled-server.js';
import { servedDatabase } from './served-database.js';
import { create, modelOf, writeServer } from './server.js';
import { type SourceModel, sourceServer } from './source-server.js';

const model = `drs: 1
name: selections
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, indexed: true }
      city: string
      founded: date
      opened: { type: date, dateOnly: true }
      active: boolean
      extra: object
      embedding: { type: vector, dimensions: 2 }
      secret: { type: number, exposed: false }
      staff: { to: Employee, many: true, inverse: employer }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      lastName: string
      salary: number
      employer: { to: Company, inverse: staff, onDelete: restrict }
      boss: { to: Employee, inverse: reports, onDelete: setNull }
      reports: { to: Employee, many: true, inverse: boss }
      badges: { to: Badge, many: true, inverse: owner }
  Badge:
    attributes:
      code: { type: string, key: true }
      owner: { to: Employee, inverse: badges, onDelete: cascade }
  Token:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      size: integer
`;

// The emitted code of this model.
interface CompanyTypes {
  readonly ds: TestDatastore;
  readonly name: 'Company';
  readonly key: number;
  readonly values: { readonly name?: string | null };
  readonly object: object;
  readonly entity: CompanyEntity;
  readonly selection: CompanySelection;
  readonly attributes: {
    readonly ID: number;
    readonly name: string | null;
    readonly city: string | null;
    readonly founded: Date | null;
    readonly opened: string | null;
    readonly active: boolean | null;
    readonly extra: object | null;
    readonly secret: number | null;
  };
}
class Company extends DataclassObject<CompanyTypes> {}
export class CompanyEntity extends Entity<CompanyTypes> {
  declare readonly ID: number;
  declare name: string | null;
  declare readonly staff: EmployeeSelection;
}
abstract class CompanySelectionBase extends EntitySelection<CompanyTypes> {
  declare readonly staff: EmployeeSelection;
}
export class CompanySelection extends CompanySelectionBase {
  /** The code of a user. */
  payroll(): Promise<number> {
    return this.staff.sum('salary');
  }
}

interface EmployeeTypes {
  readonly ds: TestDatastore;
  readonly name: 'Employee';
  readonly key: number;
  readonly values: { readonly lastName?: string | null };
  readonly object: object;
  readonly entity: EmployeeEntity;
  readonly selection: EmployeeSelection;
  readonly attributes: {
    readonly ID: number;
    readonly lastName: string | null;
    readonly salary: number | null;
  };
}
class Employee extends DataclassObject<EmployeeTypes> {}
export class EmployeeEntity extends Entity<EmployeeTypes> {
  declare readonly ID: number;
  declare lastName: string | null;
  declare salary: number | null;
  declare readonly employer: RelatedEntity<CompanyTypes>;
  declare readonly reports: EmployeeSelection;
  declare readonly badges: BadgeSelection;
}
export class EmployeeSelection extends EntitySelection<EmployeeTypes> {
  declare readonly employer: CompanySelection;
  declare readonly boss: EmployeeSelection;
  declare readonly reports: EmployeeSelection;
  declare readonly badges: BadgeSelection;
}

interface BadgeTypes {
  readonly ds: TestDatastore;
  readonly name: 'Badge';
  readonly key: string;
  readonly values: { readonly code?: string };
  readonly object: object;
  readonly entity: BadgeEntity;
  readonly selection: BadgeSelection;
  readonly attributes: { readonly code: string };
}
class Badge extends DataclassObject<BadgeTypes> {}
class BadgeEntity extends Entity<BadgeTypes> {
  declare readonly code: string;
}
class BadgeSelection extends EntitySelection<BadgeTypes> {
  declare readonly owner: EmployeeSelection;
}

interface TokenTypes {
  readonly ds: TestDatastore;
  readonly name: 'Token';
  readonly key: string;
  readonly values: object;
  readonly object: object;
  readonly entity: TokenEntity;
  readonly selection: TokenSelection;
  readonly attributes: { readonly size: number | null };
}
class Token extends DataclassObject<TokenTypes> {}
class TokenEntity extends Entity<TokenTypes> {}
class TokenSelection extends EntitySelection<TokenTypes> {}

export class TestDatastore extends Datastore {
  declare readonly Company: Company;
  declare readonly Employee: Employee;
  declare readonly Badge: Badge;
  declare readonly Token: Token;
}

const dataclasses: Readonly<Record<string, DataclassClasses>> = {
  Company: { dataclass: Company, entity: CompanyEntity, selection: CompanySelection },
  Employee: { dataclass: Employee, entity: EmployeeEntity, selection: EmployeeSelection },
  Badge: { dataclass: Badge, entity: BadgeEntity, selection: BadgeSelection },
  Token: { dataclass: Token, entity: TokenEntity, selection: TokenSelection },
};

export interface ServedSelections {
  readonly app: FastifyInstance;
  readonly ds: TestDatastore;
  /** Statements since the last reset. */
  readonly statements: string[];
}

/** A server with class code, on an empty database in memory. */
export async function serveSelections(sqliteUrl = 'sqlite::memory:'): Promise<ServedSelections> {
  const folder = writeServer(modelOf(model));
  const emitted = async (name: string): Promise<Partial<SourceModel>> =>
    await importFrom(folder, `src/generated/${name}`);
  const { databases, databaseUrl, environment, drop } = await servedDatabase(emitted, sqliteUrl);
  const generated = {
    databases,
    ...(await emitted('definitions')),
    ...(await emitted('settings')),
  } as SourceModel;
  const statements: string[] = [];
  const app = await sourceServer(
    {
      ...generated,
      classes: { datastore: TestDatastore, datastoreFunctions: [], dataclasses, singletons: {} },
    },
    {
      databaseUrl,
      logger: false,
      environment,
      onStatement: (sql) => statements.push(sql),
    },
    emitted,
    Object.keys(dataclasses),
  );
  app.addHook('onClose', drop);
  return { app, ds: app.datastore as TestDatastore, statements };
}

/** Three companies; five employees, two of them bosses. */
export async function createStaff(app: FastifyInstance): Promise<void> {
  await create(app, 'Company', [
    {
      name: 'Blue',
      city: 'Paris',
      founded: '2001-02-03T04:05:06.007Z',
      opened: '2001-02-03',
      active: true,
      extra: { size: 3 },
      embedding: [1, 0],
    },
    { name: 'azure', city: 'Lyon', founded: '1999-01-01T00:00:00.000Z', embedding: [0, 1] },
    { name: 'Cyan', city: 'Paris', active: false, extra: { size: 'big' }, embedding: [1, 1] },
  ]);
  await create(app, 'Employee', [
    { lastName: 'Adam', salary: 100, employer: 1 },
    { lastName: 'Bell', salary: 200, employer: 1, boss: 1 },
    { lastName: 'cole', salary: 300, employer: 2, boss: 1 },
    { lastName: 'Dunn', salary: 400, employer: 3, boss: 3 },
    { lastName: 'Ende', employer: null },
  ]);
  await create(app, 'Badge', [
    { code: 'Red', owner: 1 },
    { code: 'green', owner: 1 },
    { code: 'BLUE', owner: 2 },
  ]);
}
