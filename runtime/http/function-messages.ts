import { Readable, pipeline, Transform } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MessageBody, OutgoingMessage } from '../class/objects/outgoing-message.js';
import type { Media } from '../class/objects/types.js';
import { plainValue } from '../class/calls/result.js';
import { imageType } from '../protocol/image-types.js';
import { refuseObject } from './function-values.js';
import { harmlessHeaders, setBytesType } from './reply.js';

/** Sends an image or BLOB that a function returned, as it is (protocol P11.20). */
export async function sendMedia(
  reply: FastifyReply,
  media: Uint8Array | Media,
): Promise<FastifyReply> {
  const bytes = media instanceof Uint8Array ? media : await media.read();
  reply.headers(harmlessHeaders).header('cache-control', 'no-store');
  if (bytes === null || bytes.length === 0) return reply.send();
  setBytesType(reply, imageType(bytes));
  return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

/** What is needed to read the stream of a message. */
interface MessageSurroundings {
  /**
   * Logs the error of a stream that fails after its answer has begun: the connection is cut, so
   * that the client notices.
   */
  readonly logError: (error: Error) => void;
  /** Runs code of the function after it has returned. */
  readonly within: <T>(code: () => T) => T;
}

/** Statuses without a body in HTTP. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends a message that a function returned (protocol P11.19), with the cookie of the session. */
export function sendMessage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: OutgoingMessage,
  { logError, within }: MessageSurroundings,
): FastifyReply {
  const payload = payloadOf(body);
  reply.code(status);
  reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  for (const [name, value] of headers) reply.header(name, value);
  if (withoutBody.has(status) || body === null) {
    discard(payload.content);
    return reply.send();
  }
  if (!headers.has('content-type')) reply.header('content-type', payload.type);
  if (request.method === 'HEAD' && payload.content instanceof Readable) {
    discard(payload.content);
    return reply.send('');
  }
  if (payload.content instanceof Readable) {
    readWithin(payload.content, within);
    const bytes = byteStream(payload.content);
    bytes.on('error', (error) => {
      // Before that the error is the answer, and is logged there.
      if (reply.raw.headersSent) logError(error);
    });
    return reply.send(bytes);
  }
  return reply.send(payload.content);
}

interface Payload {
  readonly content: string | Uint8Array | Readable;
  readonly type: string;
}

function payloadOf(body: MessageBody): Payload {
  if (typeof body === 'string') return { content: body, type: 'text/plain; charset=utf-8' };
  const bytes = 'application/octet-stream';
  if (body instanceof Uint8Array) return { content: asBuffer(body), type: bytes };
  if (body instanceof Readable) return { content: body, type: bytes };
  if (body instanceof ReadableStream) return { content: Readable.fromWeb(body), type: bytes };
  if (typeof body === 'object' && body !== null) {
    refuseObject(body);
    if (Symbol.asyncIterator in body) {
      return { content: Readable.from(body as AsyncIterable<unknown>), type: bytes };
    }
  }
  const json = JSON.stringify(plainValue(body, refuseObject));
  return { content: json, type: 'application/json; charset=utf-8' };
}

/** Fastify accepts only Node's own bytes. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * A stream reads in the call of its function, with its privileges: the client's connection pulls
 * the data, which belongs to no call, and would be taken for the server itself.
 */
function readWithin(stream: Readable, within: MessageSurroundings['within']): void {
  const read = stream._read.bind(stream);
  const destroy = stream._destroy.bind(stream);
  stream._read = (size) => {
    within(() => {
      read(size);
    });
  };
  stream._destroy = (error, done) => {
    within(() => {
      destroy(error, done);
    });
  };
}

/** A stream that nobody reads would keep its source open. */
function discard(content: Payload['content']): void {
  if (!(content instanceof Readable)) return;
  content.on('error', () => undefined);
  content.destroy();
}

/**
 * A stream of anything, as `Readable.from` makes it, as a stream of bytes: an item that is neither
 * a text nor bytes is an error of the stream. Sent as it is, such an item would end the process:
 * the socket throws where nobody catches.
 */
function byteStream(source: Readable): Readable {
  if (!source.readableObjectMode) return source;
  const bytes = new Transform({
    writableObjectMode: true,
    transform(item: unknown, _encoding, done) {
      if (typeof item === 'string' || item instanceof Uint8Array) done(null, item);
      else done(new TypeError('A stream of a message yields texts or bytes, and yielded neither.'));
    },
  });
  // `pipeline` passes errors on; the stream that is sent reports them.
  pipeline(source, bytes, () => undefined);
  return bytes;
}
