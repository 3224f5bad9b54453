import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { Body } from '../write/decode.js';
import type { UploadsOfEntities } from '../write/surroundings.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { UnusableUpload } from '../protocol/values.js';
import type { Parameters } from '../query/parameters.js';
import type { Answer } from './reply.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Images and BLOBs, if the model has some. */
    readonly media: ServedMedia;
  }
}

/**
 * Images and BLOBs of a server whose clients read or send some.
 */
export interface ServedMedia {
  /** The routes of `/rest/$upload`. */
  readonly routes: FastifyPluginCallback;
  /** Reads and sets the bytes of one dataclass. */
  of(database: Database, dataclass: Dataclass): DataclassMedia;
  /** @param session ID of the session; a guest without state has no uploads */
  uploadsOf(session: string | undefined): SessionUploads;
}

export interface DataclassMedia {
  /** Answers with the bytes of an attribute. */
  read(
    request: FastifyRequest,
    attribute: StorageDefinition,
    key: string | number,
    parameters: Parameters,
  ): Promise<Answer>;
  /**
   * Sets an image or a BLOB to the body of a request.
   * @param save as `$method=update` does
   * @throws RequestError 400 with 1824 if an image is set and the body is none
   */
  write<Answer extends { readonly status: number }>(
    attribute: StorageDefinition,
    key: string | number,
    body: unknown,
    save: (entity: Body) => Promise<Answer>,
  ): Promise<Answer>;
}

export interface SessionUploads {
  /** The bytes of an upload for a parameter or attribute of that type, or why it cannot be applied. */
  bytesOf(id: unknown, type: StorageDefinition['type']): Promise<Uint8Array | UnusableUpload>;
  forEntities(): UploadsOfEntities;
}

/** @throws Error if `app.ts` registers no media, and the model needs it */
export function requireMedia(media: ServedMedia | undefined): ServedMedia {
  if (media !== undefined) return media;
  throw new Error(
    'The model has images or BLOBs: register the plugin media of #runtime/media before datastore.',
  );
}
