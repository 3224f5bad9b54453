import { EmployeeEntityBase } from '../generated/api.js';

export class EmployeeEntity extends EmployeeEntityBase {
  get fullName(): string | null {
    return [this.firstName, this.lastName].filter((name) => name !== null).join(' ');
  }

  /** The last word is the last name. */
  set fullName(value: string | null) {
    const words = (value ?? '').trim().split(' ');
    this.lastName = words.pop() ?? '';
    this.firstName = words.length === 0 ? null : words.join(' ');
  }
}
