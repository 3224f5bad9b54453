import { decimal } from '#runtime/class';
import { type EventError, InvoiceLineEntityBase } from '../generated/api.js';

export class InvoiceLineEntity extends InvoiceLineEntityBase {
  /** Without a price, a line has that of its track at this moment; without a quantity, it is one. */
  async saving(): Promise<EventError | undefined> {
    this.unitPrice ??= (await this.track.get())?.price ?? '0';
    this.quantity ??= 1;
    if (this.quantity > 1000) {
      return { errCode: 9002, message: 'A line is for 1,000 at most.', attribute: 'quantity' };
    }
    this.amount = decimal.multiply(this.unitPrice, this.quantity);
    return undefined;
  }
}
