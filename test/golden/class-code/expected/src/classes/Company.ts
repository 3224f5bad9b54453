import { CompanyBase, type CompanySelection, notWritten } from '../generated/api.js';

export class Company extends CompanyBase {
  /** Those of one city */
  fromCity(city: string): Promise<CompanySelection> {
    throw notWritten('Company.fromCity', 'src/classes/Company.ts', city);
  }
}
