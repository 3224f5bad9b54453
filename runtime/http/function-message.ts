import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MessageBody, OutgoingMessage } from '../class/outgoing-message.js';
import { plainValue } from '../function/plain-value.js';
import { byteStream } from './byte-stream.js';
import { refuseObject } from './function-classes.js';

/** What a stream of a message is read with. */
interface MessageSurroundings {
  /** Told of a stream that fails when its answer has begun: the connection is cut then, so that the client knows. */
  readonly tell: (error: Error) => void;
  /** Runs code of the function, which has returned. */
  readonly within: <T>(code: () => T) => T;
}

/** Statuses that HTTP allows no body with. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Sends a function's own answer (protocol section 15.5). What the session adds, its cookie, goes with it.
 */
export function sendMessage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: OutgoingMessage,
  { tell, within }: MessageSurroundings,
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
      // Before that it is answered, and told there.
      if (reply.raw.headersSent) tell(error);
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

/** Fastify takes no other bytes than Node's own. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * What a stream reads, it reads as the call of its function, with the privileges of that: it is asked for more by the client's
 * connection, which knows no call, and would be taken for the server itself.
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

/** A stream that nobody reads would hold what it reads from. */
function discard(content: Payload['content']): void {
  if (!(content instanceof Readable)) return;
  content.on('error', () => undefined);
  content.destroy();
}
