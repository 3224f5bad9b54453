import {
  CompanyEntityBase,
  type CompanyTypes,
  type EmployeeEntity,
  type EventError,
  type SaveEvent,
} from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
  async hire(person: EmployeeEntity): Promise<EmployeeEntity> {
    person.employer.set(this);
    person.hiredAt ??= new Date();
    await person.save();
    return person;
  }

  /** The rating is our own: clients cannot see it, and it follows the revenue. */
  saving(event: SaveEvent<CompanyTypes>): undefined {
    if (!event.touched.includes('revenue')) return;
    const { revenue } = this;
    const isRated = revenue !== null && revenue >= 0;
    this.internalRating = isRated ? Math.floor(Math.log10(revenue + 1)) : null;
  }

  validateDrop(): EventError | undefined {
    if (this.active !== true) return undefined;
    return { errCode: 9001, message: `${this.name} is active: close it before it is deleted.` };
  }
}
