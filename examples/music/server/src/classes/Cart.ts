import {
  CartBase,
  type CustomerEntity,
  type InvoiceEntity,
  RestError,
  type TrackEntity,
} from '../generated/api.js';

export class Cart extends CartBase {
  private tracks: readonly number[] = [];

  /** A track is bought once. */
  add({ ID }: TrackEntity): number {
    this.tracks = [...new Set([...this.tracks, ID])];
    return this.tracks.length;
  }

  total(): Promise<string> {
    return this.ds.Track.fromKeys(this.tracks).sum('price');
  }

  async checkout(customer: CustomerEntity): Promise<InvoiceEntity> {
    if (this.tracks.length === 0) throw new RestError(422, 9001, 'The cart is empty.');
    const date = new Date().toISOString().slice(0, 10);
    const invoice = this.ds.Invoice.new({ customer, date });
    await this.ds.transaction(async () => {
      await invoice.save();
      for (const track of this.tracks) await this.ds.InvoiceLine.new({ invoice, track }).save();
    });
    this.tracks = [];
    await invoice.reload();
    return invoice;
  }
}
