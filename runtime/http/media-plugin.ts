import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { AppliedUploads, uploadedBytes } from '../media/apply-uploads.js';
import { whenThere } from '../dialect/pending.js';
import { DatabaseUploadStore } from '../media/database-uploads.js';
import { removeLeftovers, UploadFolder } from '../media/upload-folder.js';
import { FileUploadStore, type UploadStore } from '../media/upload-store.js';
import { MediaService } from './media-service.js';
import type { ServedMedia } from './served-media.js';
import { uploadRoutes } from './upload-service.js';

/** Makes `app.media`: uploads, and reads and writes of images and BLOBs. */
export const media = fastifyPlugin(
  async (app) => {
    const { setup } = app;
    const { limits, settings } = setup;
    const uploads = await openUploads(app);
    setup.closeAtEnd(() => uploads.close());
    const served: ServedMedia = {
      routes: uploadRoutes({
        uploads,
        limits,
        sessions: app.sessions,
        hasUsers: !settings.isOpen,
      }),
      of: (database, dataclass) => new MediaService(database, dataclass),
      uploadsOf: (session) => {
        const own = uploads.of(session);
        return {
          bytesOf: (id, type) => {
            const loaded = typeof id === 'string' ? own.load([id]) : undefined;
            return whenThere(loaded, () => uploadedBytes(id, type, own));
          },
          forEntities: (dataclass) => new AppliedUploads(dataclass, own, limits.uploadSpace),
        };
      },
    };
    app.decorate('media', served);
  },
  { name: 'drs-media', dependencies: ['drs-sessions'] },
);

/** Uploads are in the database, or files that this process alone knows. */
async function openUploads({ setup, stores, sessions }: FastifyInstance): Promise<UploadStore> {
  const { limits } = setup;
  const { clock, state } = stores;
  if (state !== undefined) {
    const inDatabase = new DatabaseUploadStore(limits, state.database, state.stored);
    state.everyTick(() => inDatabase.tick());
    return inDatabase;
  }
  await removeLeftovers();
  const files = new FileUploadStore(limits, clock, new UploadFolder());
  sessions.sessions.onEnd((session) => {
    files.releaseOf(session);
  });
  sessions.sessions.onMove((from, to) => {
    files.move(from, to);
  });
  return files;
}
