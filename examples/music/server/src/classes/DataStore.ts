import { DataStoreBase, type JsonObject } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  /** The sales of each month of a year, as far as the caller may see them */
  async sales(year: number): Promise<readonly JsonObject[]> {
    const days = [`${year}-01-01`, `${year}-12-31`];
    const sold = this.InvoiceLine.query('invoice.date >= :1 and invoice.date <= :2', ...days);
    const months = await sold.groupBy(
      ['invoice.date:month'],
      ['count', 'sum(quantity)', 'sum(amount)'],
      { orderBy: 'invoice.date:month' },
    );
    return months.map((month) => ({
      month: month['invoice.date:month'],
      lines: month.count,
      tracks: month['sum(quantity)'],
      amount: month['sum(amount)'],
    }));
  }
}
