import { TrackEntityBase, type TrackSelection } from '../generated/api.js';

export class TrackEntity extends TrackEntityBase {
  /** Tracks that sound like this one, the most similar first */
  similar(limit = 10): TrackSelection {
    const sound = { vector: this.sound, metric: 'cosine', threshold: 0.8 };
    const others = this.ds.Track.query('sound >= :1 and ID != :2 order by sound', sound, this.ID);
    return others.slice(0, Math.max(limit, 0));
  }
}
