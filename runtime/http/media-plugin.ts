import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { UploadApplier, uploadedBytes } from '../media/apply-uploads.js';
import { SharedUploadLedger } from '../media/shared-upload-ledger.js';
import { SharedUploadFiles, UploadFolder } from '../media/upload-folder.js';
import { UploadStore } from '../media/upload-store.js';
import { removeLeftovers } from '../shared-state/leftovers.js';
import { MediaService } from './media-service.js';
import type { ServedMedia } from './served-media.js';
import { uploadRoutes } from './upload-service.js';

/** Makes `app.media`: uploads, and reads and writes of images and BLOBs. */
export const media = fastifyPlugin(
  async (app) => {
    const { setup } = app;
    const { limits, settings } = setup;
    const { sessions } = app.sessions;
    await removeLeftovers();
    const uploads = openUploads(app);
    setup.closeAtEnd(() => uploads.close());
    sessions.onEnd((session) => {
      uploads.releaseOf(session);
    });
    sessions.onMove((from, to) => {
      uploads.move(from, to);
    });
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
          bytesOf: (id, type) => uploadedBytes(id, type, own),
          forEntities: (dataclass) => new UploadApplier(dataclass, own, limits.uploadSpace),
        };
      },
    };
    app.decorate('media', served);
  },
  { name: 'drs-media', dependencies: ['drs-sessions'] },
);

/** Uploads are files; if several processes serve, each knows those of all. */
function openUploads({ setup: { limits, joined }, stores }: FastifyInstance): UploadStore {
  const { clock, sharing } = stores;
  if (joined === undefined || sharing === undefined) {
    return new UploadStore(limits, clock, new UploadFolder());
  }
  const files = new SharedUploadFiles(joined.folder, joined.process);
  return new UploadStore(limits, clock, files, new SharedUploadLedger(sharing, joined.process));
}
