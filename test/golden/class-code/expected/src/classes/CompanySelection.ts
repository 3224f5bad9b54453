import { CompanySelectionBase, notWritten } from '../generated/api.js';

export class CompanySelection extends CompanySelectionBase {
  totalSalary(): Promise<number> {
    throw notWritten('CompanySelection.totalSalary', 'src/classes/CompanySelection.ts');
  }
}
