import { CompanySelectionBase } from '../generated/api.js';

export class CompanySelection extends CompanySelectionBase {
  async totalRevenue(): Promise<number> {
    return (await this.sum('revenue')) ?? 0;
  }
}
