import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { Pending } from '../dialect/pending.js';
import type { Body } from '../entity/decode.js';
import { convertImage, readImageFormat, type TargetFormat } from '../media/convert.js';
import { contentTypeOf, imageType, type ImageType } from '../protocol/image-types.js';
import { MediaReader, type MediaVersion, namesTag, readRange } from '../media/media-reader.js';
import { noImage } from '../media/upload-store.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { errorCodes, protocolError, refuse, RequestError, refuseBusy } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import type { DataclassMedia } from './served-media.js';

/** An image or BLOB as it is sent. */
interface Content {
  readonly bytes: Uint8Array;
  /** `undefined` for a BLOB, and for bytes that are no image. */
  readonly type: ImageType | undefined;
}

/** What the client requests. */
interface Wanted {
  readonly attribute: StorageDefinition;
  readonly key: string | number;
  readonly format: TargetFormat | 'best';
}

/** How often an entity is read again that changes between two statements. */
const mostTries = 3;

/** Stored bytes must not run script in a browser in the name of this server. */
const harmless = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
} as const;

/** Answers reads of the bytes of images and BLOBs of one dataclass (protocol P10.1, P10.2). */
export class MediaService implements DataclassMedia {
  readonly #reader: MediaReader;

  constructor(
    database: Database,
    private readonly dataclass: Dataclass,
  ) {
    this.#reader = new MediaReader(database, dataclass);
  }

  /** `GET /<dataClass>(<key>)/<attribute>` for the bytes of an image or BLOB. */
  async read(
    request: FastifyRequest,
    reply: FastifyReply,
    attribute: StorageDefinition,
    key: string | number,
    parameters: Parameters,
  ): Promise<FastifyReply> {
    const format = attribute.type === 'image' ? readImageFormat(parameters.imageformat) : 'best';
    const wanted = { attribute, key, format };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const version = await this.#reader.version(attribute, key);
      if (version === undefined) throw this.#missing();
      const headers = {
        ...harmless,
        etag: `"${version.tag}-${format}"`,
        'cache-control':
          parameters.version === String(version.stamp) ? 'private, max-age=31536000' : 'no-cache',
      };
      if (namesTag(request.headers['if-none-match'], headers.etag)) {
        return reply.code(304).headers(headers).send();
      }
      // No bytes have no type.
      if (version.isNull) return reply.headers(headers).send();
      const content = await this.#content(wanted, version);
      if (content !== undefined) return sendContent(request, reply.headers(headers), content);
    }
    throw changedAgain();
  }

  /**
   * `POST /<dataClass>(<key>)/<image>?$rawPict=true`: sets an image in one step (protocol P10.5).
   * No stamp is sent, so the last image stays.
   * @throws RequestError 400 with 1824 if the body is no image
   */
  async write<Answer extends { readonly status: number }>(
    attribute: StorageDefinition,
    key: string | number,
    body: unknown,
    save: (entity: Body) => Pending<Answer>,
  ): Promise<Answer> {
    if (!(body instanceof Uint8Array) || imageType(body) === undefined) throw noImage();
    for (let tries = 0; tries < mostTries; tries += 1) {
      const version = await this.#reader.version(attribute, key);
      if (version === undefined) throw this.#missing();
      const entity = { __KEY: key, __STAMP: version.stamp, [attribute.name]: body };
      const answer = await save(entity);
      if (answer.status !== errorCodes.stampChanged.status) return answer;
    }
    throw changedAgain();
  }

  /** @returns `undefined` if the entity was changed in between */
  async #content(
    { attribute, key, format }: Wanted,
    { stamp }: MediaVersion,
  ): Promise<Content | undefined> {
    const bytes = await this.#reader.bytes(attribute, key, stamp);
    if (bytes === undefined) return undefined;
    const type = attribute.type === 'image' ? imageType(bytes) : undefined;
    if (format === 'best' || format === type) return { bytes, type };
    const converted = await convertImage(bytes, type, format);
    return { bytes: converted ?? Buffer.alloc(0), type: format };
  }

  #missing(): RequestError {
    const { name } = this.dataclass;
    return refuse('entityMissing', `The entity cannot be found in the "${name}" dataclass.`);
  }
}

function changedAgain(): RequestError {
  return refuseBusy('The entity is being changed again and again.');
}

function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, type }: Content,
): FastifyReply {
  const { method, headers } = request;
  if (bytes.length === 0) return reply.send();
  const etag = reply.getHeader('etag');
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag;
  const range = method === 'GET' && isSame ? readRange(headers.range, bytes.length) : undefined;
  if (range === 'unsatisfiable') throw unsatisfiable(reply, bytes.length);
  reply.header('content-type', contentTypeOf(type)).header('accept-ranges', 'bytes');
  // An SVG is a document with scripts; a page of its own offers to save it.
  if (type === undefined || type === 'svg') reply.header('content-disposition', 'attachment');
  if (range === undefined) return reply.send(bytes);
  const { start, end } = range;
  return reply
    .code(206)
    .header('content-range', `bytes ${start}-${end - 1}/${bytes.length}`)
    .send(bytes.subarray(start, end));
}

function unsatisfiable(reply: FastifyReply, length: number): RequestError {
  reply.removeHeader('etag');
  const message = `The range lies outside of the ${length} bytes.`;
  return new RequestError(416, [protocolError('rangeNotSatisfiable', message)], {
    'content-range': `bytes */${length}`,
  });
}
