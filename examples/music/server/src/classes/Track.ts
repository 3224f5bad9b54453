import { TrackBase, type TrackSelection } from '../generated/api.js';

export class Track extends TrackBase {
  /** Counts all sales, since the model promotes it: its caller may see none of them. */
  async bestsellers(limit = 10): Promise<TrackSelection> {
    const best = await this.ds.InvoiceLine.groupBy(['track_id'], ['sum(quantity)'], {
      orderBy: 'sum(quantity) desc',
      top: Math.max(limit, 0),
    });
    return this.fromKeys(best.map(({ track_id: track }) => track));
  }
}
