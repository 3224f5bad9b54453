import {
  type ComputedOrder,
  type ComputedQuery,
  EmployeeBase,
  type FilterWithValues,
  type Restriction,
  type Session,
} from '../generated/api.js';

export class Employee extends EmployeeBase {
  /** `Sigrid Haugen` is both names, one word may be either of them. */
  queryFullName({ operator, value }: ComputedQuery): FilterWithValues {
    const [first, ...others] = String(value).trim().split(' ');
    return others.length === 0
      ? { filter: `firstName ${operator} :1 or lastName ${operator} :1`, values: [first] }
      : {
          filter: `firstName = :1 and lastName ${operator} :2`,
          values: [first, others.join(' ')],
        };
  }

  orderByFullName({ direction }: ComputedOrder): string {
    return `lastName ${direction}, firstName ${direction}`;
  }

  /** Who does not manage the staff sees those alone who work for an active company. */
  restrict(session: Session): Restriction {
    return session.hasPrivilege('manageStaff') ? null : 'employer.active = true';
  }
}
