import {
  CompanyBase,
  type CompanySelection,
  type ComputedOrder,
  type ComputedQuery,
  type FilterWithValues,
  notWritten,
} from '../generated/api.js';

export class Company extends CompanyBase {
  /** Those of one city */
  fromCity(city: string): Promise<CompanySelection> {
    throw notWritten('Company.fromCity', 'src/classes/Company.ts', city);
  }

  /** As it hangs on the wall */
  queryMotto(query: ComputedQuery): FilterWithValues {
    throw notWritten('Company.queryMotto', 'src/classes/Company.ts', query);
  }

  /** As it hangs on the wall */
  orderByMotto(order: ComputedOrder): string {
    throw notWritten('Company.orderByMotto', 'src/classes/Company.ts', order);
  }
}
