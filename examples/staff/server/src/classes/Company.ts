import { CompanyBase, type CompanySelection } from '../generated/api.js';

export class Company extends CompanyBase {
  fromCity(city: string): CompanySelection {
    return this.query('city = :1', city);
  }
}
