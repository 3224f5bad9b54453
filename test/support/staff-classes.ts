import { DataclassObject } from '../../runtime/class/objects/dataclass.js';
import { Datastore } from '../../runtime/class/objects/datastore.js';
import { Entity } from '../../runtime/class/objects/entity.js';
import type { ClassRegistry } from '../../runtime/class/objects/registry.js';
import { EntitySelection } from '../../runtime/class/objects/selection.js';
import type {
  JsonObject,
  Media,
  RelatedEntity,
  Vector,
} from '../../runtime/class/objects/types.js';

/**
 * The emitted classes of `test/support/models/people.yaml` that tests need, and user classes that
 * extend them.
 */
export interface CompanyTypes {
  ds: DataStore;
  name: 'Company';
  key: number;
  values: CompanyValues;
  object: CompanyAttributes & { manager: string | null };
  entity: CompanyEntity;
  selection: CompanySelection;
  attributes: CompanyAttributes;
}

interface CompanyAttributes {
  ID: number | null;
  name: string | null;
  city: string | null;
  founded: string | null;
  revenue: number | null;
  active: boolean | null;
  extra: JsonObject | null;
  embedding: Vector | null;
  internalRating: number | null;
  label: string | null;
}

interface CompanyValues extends Partial<Omit<CompanyAttributes, 'label'>> {
  logo?: Uint8Array | null;
  manager?: EmployeeEntity | string | null;
}

export interface EmployeeTypes {
  ds: DataStore;
  name: 'Employee';
  key: string;
  values: EmployeeValues;
  object: EmployeeAttributes & { employer: number | null };
  entity: EmployeeEntity;
  selection: EmployeeSelection;
  attributes: EmployeeAttributes;
}

interface EmployeeAttributes {
  ID: string | null;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  role: string | null;
  birthDate: string | null;
  hiredAt: Date | null;
  salary: number | null;
  employerID: number | null;
  employerName: string | null;
}

interface EmployeeValues extends Partial<Omit<EmployeeAttributes, 'employerName'>> {
  photo?: Uint8Array | null;
  cv?: Uint8Array | null;
  employer?: CompanyEntity | number | null;
}

export abstract class CompanyEntityBase extends Entity<CompanyTypes> {
  declare ID: number | null;
  declare name: string | null;
  declare city: string | null;
  declare founded: string | null;
  declare revenue: number | null;
  declare active: boolean | null;
  declare extra: JsonObject | null;
  declare embedding: Vector | null;
  declare internalRating: number | null;
  declare readonly label: string | null;
  declare readonly logo: Media;
  declare readonly manager: RelatedEntity<EmployeeTypes>;
  declare readonly staff: EmployeeSelection;
}

export abstract class EmployeeEntityBase extends Entity<EmployeeTypes> {
  declare ID: string | null;
  declare firstName: string | null;
  declare lastName: string | null;
  declare email: string | null;
  declare role: string | null;
  declare birthDate: string | null;
  declare hiredAt: Date | null;
  declare salary: number | null;
  declare employerID: number | null;
  declare readonly employerName: string | null;
  declare readonly photo: Media;
  declare readonly cv: Media;
  declare readonly employer: RelatedEntity<CompanyTypes>;
}

export abstract class CompanyBase extends DataclassObject<CompanyTypes> {}
export abstract class EmployeeBase extends DataclassObject<EmployeeTypes> {}
export class CompanySelection extends EntitySelection<CompanyTypes> {
  declare readonly staff: EmployeeSelection;
}
export class EmployeeSelection extends EntitySelection<EmployeeTypes> {
  declare readonly employer: CompanySelection;
}

export abstract class DataStoreBase extends Datastore<StaffDatabase> {
  declare readonly Company: Company;
  declare readonly Employee: Employee;
}

export interface StaffDatabase {
  Company: {
    ID: number;
    name: string;
    __folded_name: string;
    city: string | null;
    active: number | null;
    __STAMP: number;
    __TIMESTAMP: string;
  };
}

/** A user's class with a member in addition to the attributes. */
export class CompanyEntity extends CompanyEntityBase {
  greeting = 'hello';

  async hire(person: EmployeeEntity): Promise<EmployeeEntity> {
    person.employer.set(this);
    await person.save();
    return person;
  }
}

export class EmployeeEntity extends EmployeeEntityBase {}

export class Company extends CompanyBase {
  fromCity(city: string): CompanySelection {
    return this.query('city = :1', city);
  }
}

export class Employee extends EmployeeBase {}

export class DataStore extends DataStoreBase {
  whoAmI(): string {
    return this.session.userName;
  }
}

export const staffClasses: ClassRegistry = {
  datastore: DataStore,
  datastoreFunctions: [],
  dataclasses: {
    Company: { dataclass: Company, entity: CompanyEntity, selection: CompanySelection },
    Employee: { dataclass: Employee, entity: EmployeeEntity, selection: EmployeeSelection },
  },
  singletons: {},
};
