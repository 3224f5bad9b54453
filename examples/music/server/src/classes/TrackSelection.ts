import { type PlaylistEntity, TrackSelectionBase } from '../generated/api.js';

export class TrackSelection extends TrackSelectionBase {
  /** Makes a playlist of the tracks */
  toPlaylist(name: string): Promise<PlaylistEntity> {
    return this.ds.transaction(async () => {
      const playlist = this.ds.Playlist.new({ name });
      await playlist.save();
      let position = 0;
      for await (const track of this) {
        position += 1;
        await this.ds.PlaylistEntry.new({ playlist, track, position }).save();
      }
      await playlist.reload();
      return playlist;
    });
  }
}
