import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyPluginCallback } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { UploadApplier, uploadedBytes } from '../media/apply-uploads.js';
import { DatabaseUploadStore } from '../media/database-uploads.js';
import { removeLeftovers, UploadFolder } from '../media/upload-folder.js';
import {
  FileUploadStore,
  noImage,
  tooLarge,
  type UploadLimits,
  type UploadOptions,
  type UploadStore,
} from '../media/upload-store.js';
import type { ServedMedia, DataclassMedia } from './served-media.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { Body } from '../write/decode.js';
import { convertImage, readImageFormat, type TargetFormat } from '../media/convert.js';
import { imageType, type ImageType, readRawPict } from '../protocol/image-types.js';
import { MediaReader, type MediaVersion, namesTag, readRange } from '../media/media-reader.js';
import type { StorageDefinition } from '../protocol/definition.js';
import {
  errorCodes,
  protocolError,
  refuse,
  RequestError,
  refuseBusy,
  methodNotAllowed,
} from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { network } from '../access/quotas.js';
import type { RequestSession } from '../access/request-session.js';
import { setRequesterOf } from '../access/session.js';
import { firstFile, isMultipart } from '../media/multipart.js';
import { parametersOf } from './reading-parameters.js';
import { type Answer, harmlessHeaders, missingEntity, sendJson, setBytesType } from './reply.js';
import type { RequestSessions } from './request-sessions.js';
import { requireOnly } from './parameter-rules.js';

/** Makes `app.media`: uploads, and reads and writes of images and BLOBs. */
export const media = fastifyPlugin(
  async (app) => {
    const { setup } = app;
    const { limits, settings } = setup;
    const uploads = await openUploads(app);
    app.addHook('onClose', () => uploads.close());
    const served: ServedMedia = {
      routes: uploadRoutes({
        uploads,
        limits,
        sessions: app.sessions,
        hasUsers: !settings.isOpen,
      }),
      of: (database, dataclass) => new MediaService(database, dataclass, limits.uploadSize),
      uploadsOf: (session) => {
        const own = uploads.of(session);
        return {
          bytesOf: async (id, type) => {
            try {
              if (typeof id === 'string') await own.load([id]);
              return uploadedBytes(id, type, own);
            } finally {
              own.release();
            }
          },
          forEntities: () => new UploadApplier(own, limits.uploadSpace),
        };
      },
    };
    app.decorate('media', served);
  },
  { name: 'drs-media', dependencies: ['drs-sessions'] },
);

/** Uploads are in the database, or files that this process alone knows. */
async function openUploads({ setup, stores }: FastifyInstance): Promise<UploadStore> {
  const { limits } = setup;
  const { clock, state } = stores;
  if (state !== undefined) {
    const inDatabase = new DatabaseUploadStore(limits, state.database, state.stored);
    state.everyTick(() => inDatabase.tick());
    return inDatabase;
  }
  await removeLeftovers();
  const files = new FileUploadStore(limits, clock, new UploadFolder());
  stores.sessions.onEnd((session) => {
    files.releaseOf(session);
  });
  stores.sessions.onMove((from, to) => {
    files.move(from, to);
  });
  return files;
}

/** An image or BLOB as it is sent. */
interface Content {
  readonly bytes: Uint8Array;
  /** `undefined` for a BLOB, and for bytes that are no image. */
  readonly type: ImageType | undefined;
}

/** What the client requests. */
interface RequestedBytes {
  readonly attribute: StorageDefinition;
  readonly key: string | number;
  readonly format: TargetFormat | 'best';
}

/** How often an entity is read again that changes between two statements. */
const mostTries = 3;
/** How often an image is stored again whose entity others change. */
const mostWrites = 20;

/** Answers reads of the bytes of images and BLOBs of one dataclass (protocol P10.1, P10.2). */
class MediaService implements DataclassMedia {
  readonly #reader: MediaReader;

  constructor(
    database: Database,
    private readonly dataclass: Dataclass,
    /** Bytes. */
    private readonly uploadSize: number,
  ) {
    this.#reader = new MediaReader(database, dataclass);
  }

  /** `GET /<dataClass>(<key>)/<attribute>` for the bytes of an image or BLOB. */
  async read(
    request: FastifyRequest,
    attribute: StorageDefinition,
    key: string | number,
    parameters: Parameters,
  ): Promise<Answer> {
    const format = attribute.type === 'image' ? readImageFormat(parameters.imageformat) : 'best';
    const wanted = { attribute, key, format };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const version = await this.#version(attribute, key);
      const headers = {
        ...harmlessHeaders,
        etag: `"${version.tag}-${format}"`,
        'cache-control':
          parameters.version === String(version.stamp) ? 'private, max-age=31536000' : 'no-cache',
      };
      if (namesTag(request.headers['if-none-match'], headers.etag)) {
        return (reply) => reply.code(304).headers(headers).send();
      }
      // No bytes have no type.
      if (version.isNull) return (reply) => reply.headers(headers).send();
      const content = await this.#content(wanted, version);
      if (content !== undefined) return contentAnswer(request, headers, content);
    }
    throw changedAgain();
  }

  /**
   * `POST /<dataClass>(<key>)/<image>?$rawPict=true`, `…/<blob>?$binary=true`: sets an image or a
   * BLOB in one step (protocol P10.5). No stamp is sent, so the last one stays.
   * @throws RequestError 400 with 1824 if an image is set and the body is none
   */
  async write<Answer extends { readonly status: number }>(
    attribute: StorageDefinition,
    key: string | number,
    body: unknown,
    save: (entity: Body) => Promise<Answer>,
  ): Promise<Answer> {
    const bytes = body instanceof Uint8Array ? body : new Uint8Array();
    if (bytes.length > this.uploadSize) throw tooLarge(this.uploadSize);
    if (attribute.type === 'image' && imageType(bytes) === undefined) throw noImage();
    for (let tries = 0; tries < mostWrites; tries += 1) {
      const version = await this.#version(attribute, key);
      const entity = { __KEY: key, __STAMP: version.stamp, [attribute.name]: bytes };
      const answer = await save(entity);
      if (answer.status !== errorCodes.stampChanged.status) return answer;
      const { stamp } = await this.#version(attribute, key);
      // Another conflict, such as a unique value that an event sets.
      if (stamp === version.stamp) return answer;
      // The random pause lets requests that conflict here retry at different times.
      await sleep(Math.random() * 10 * tries);
    }
    throw changedAgain();
  }

  async #version(attribute: StorageDefinition, key: string | number): Promise<MediaVersion> {
    const version = await this.#reader.version(attribute, key);
    if (version === undefined) throw missingEntity(this.dataclass.name);
    return version;
  }

  /** @returns `undefined` if the entity was changed in between */
  async #content(
    { attribute, key, format }: RequestedBytes,
    { stamp }: MediaVersion,
  ): Promise<Content | undefined> {
    const bytes = await this.#reader.bytes(attribute, key, stamp);
    if (bytes === undefined) return undefined;
    const type = attribute.type === 'image' ? imageType(bytes) : undefined;
    if (format === 'best' || format === type) return { bytes, type };
    const converted = await convertImage(bytes, type, format);
    return { bytes: converted ?? Buffer.alloc(0), type: format };
  }
}

function changedAgain(): RequestError {
  return refuseBusy('The entity is being changed again and again.');
}

function contentAnswer(
  { method, headers: sent }: FastifyRequest,
  headers: Readonly<Record<'etag' | 'cache-control', string>>,
  { bytes, type }: Content,
): Answer {
  if (bytes.length === 0) return (reply) => reply.headers(headers).send();
  const isSame = sent['if-range'] === undefined || sent['if-range'] === headers.etag;
  const range = method === 'GET' && isSame ? readRange(sent.range, bytes.length) : undefined;
  if (range === 'unsatisfiable') throw unsatisfiable(bytes.length);
  return (reply) => {
    reply.headers(headers);
    setBytesType(reply, type);
    reply.header('accept-ranges', 'bytes');
    if (range === undefined) return reply.send(bytes);
    const { start, end } = range;
    return reply
      .code(206)
      .header('content-range', `bytes ${start}-${end - 1}/${bytes.length}`)
      .send(bytes.subarray(start, end));
  };
}

function unsatisfiable(length: number): RequestError {
  const message = `The range lies outside of the ${length} bytes.`;
  return new RequestError(416, [protocolError('rangeNotSatisfiable', message)], {
    ...harmlessHeaders,
    'content-range': `bytes */${length}`,
  });
}

/** Bytes of a form in addition to its first file. */
const formSpace = 1024 * 1024;

/**
 * `POST /rest/$upload` (protocol P10.3). The body goes to disk as it arrives, and is never in
 * memory as a whole.
 */
function uploadRoutes(context: UploadContext): FastifyPluginCallback {
  return (app, _options, done) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, parsed) => {
      parsed(null, payload);
    });
    app.post('/rest/$upload', { config: { streamsBody: true } }, (request, reply) =>
      receive(request, reply, context),
    );
    app.get('/rest/$upload', () => {
      throw methodNotAllowed('Files are uploaded with POST.', 'POST');
    });
    done();
  };
}

interface UploadContext {
  readonly uploads: UploadStore;
  readonly limits: UploadLimits;
  readonly sessions: RequestSessions;
  /** Whether anybody can log in: guests leave a part of the space to users. */
  readonly hasUsers: boolean;
}

async function receive(
  request: FastifyRequest,
  reply: FastifyReply,
  context: UploadContext,
): Promise<FastifyReply> {
  let id: string | undefined;
  try {
    id = await stored(request, reply, context);
  } catch (error) {
    const { destroyed, complete } = request.raw;
    if (!destroyed || complete) throw error;
  }
  if (id !== undefined) return sendJson(reply, JSON.stringify({ ID: id }));
  // The client has disconnected, so nothing is sent.
  reply.hijack();
  return reply;
}

async function stored(
  request: FastifyRequest,
  reply: FastifyReply,
  { uploads, limits, sessions, hasUsers }: UploadContext,
): Promise<string> {
  const options = uploadOptions(parametersOf(request, 'write'));
  const { 'content-type': contentType, 'content-length': declared } = request.headers;
  const isForm = isMultipart(contentType);
  const most = limits.uploadSize + (isForm ? formSpace : 0);
  if (Number(declared) > most) throw tooLarge(limits.uploadSize);
  const chunks = limited(request, most, limits.uploadSize);
  const session = await sessions.of(request, reply);
  const file = isForm ? firstFile(chunks, contentType) : chunks;
  const sender = senderOf(session, hasUsers);
  const length = declared === undefined ? undefined : Math.min(Number(declared), limits.uploadSize);
  return uploads.receive(file, { ...options, sender, length }, () => session.keep());
}

/** A user has one share in all sessions, and so have the guests of one address. */
function senderOf(session: RequestSession, hasUsers: boolean): string {
  const { keeper } = setRequesterOf(session);
  if (keeper !== undefined) return keeper;
  return `${hasUsers ? 'guest' : 'client'} ${network(session.origin.address)}`;
}

function uploadOptions(parameters: Parameters): UploadOptions {
  requireOnly(parameters, '$upload');
  const { rawPict, binary, timeout } = parameters;
  const mustBeImage = readRawPict(rawPict);
  if (mustBeImage && binary) {
    throw refuse('malformedUrl', 'An upload is sent with $rawPict or with $binary=true, not both.');
  }
  return { mustBeImage, timeout };
}

/** @param size what the message names */
async function* limited(
  { body }: FastifyRequest,
  most: number,
  size: number,
): AsyncGenerator<Uint8Array, void> {
  if (body === undefined || body === null) return;
  const chunks = (body as IncomingMessage).iterator({ destroyOnReturn: false });
  let length = 0;
  for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > most) throw tooLarge(size);
    yield chunk;
  }
}
