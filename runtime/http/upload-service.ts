import type { IncomingMessage } from 'node:http';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { network } from '../access/quota-values.js';
import type { RequestSession } from '../access/request-session.js';
import { setRequesterOf } from '../access/session.js';
import { firstFile, isMultipart } from '../media/multipart.js';
import {
  tooLarge,
  type UploadLimits,
  type UploadOptions,
  type UploadStore,
} from '../media/upload-store.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { readRawPict } from '../protocol/image-types.js';
import type { Parameters } from '../query/parameters.js';
import { parametersOf } from './reading-parameters.js';
import { sendJson } from './reply.js';
import type { RequestSessions } from './request-sessions.js';

/** Bytes of a form in addition to its first file. */
const formSpace = 1024 * 1024;
/** How long a client may go on sending after it got its answer. */
const graceMilliseconds = 2000;

const meaningful: ReadonlySet<string> = new Set(['rawPict', 'binary', 'timeout', 'version']);

/**
 * `POST /rest/$upload` (protocol P10.3). The body goes to disk as it arrives, and is never in
 * memory as a whole.
 */
export function uploadRoutes(context: UploadContext): FastifyPluginCallback {
  return (app, _options, done) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, parsed) => {
      parsed(null, payload);
    });
    app.post('/rest/$upload', (request, reply) => receive(request, reply, context));
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
  } finally {
    endBody(request.raw);
  }
  if (id !== undefined) return sendJson(reply, JSON.stringify({ ID: id }));
  // Nobody is there to get an answer.
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
  for (const name of Object.keys(parameters) as (keyof Parameters)[]) {
    const value = parameters[name];
    if (value === undefined || value === false || meaningful.has(name)) continue;
    const shown = name === 'top' ? '$top or $limit' : `$${name}`;
    throw refuse('methodNotApplicable', `${shown} does not apply to $upload.`);
  }
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

/** Lets a client that still sends read its answer, but not send for ever. */
function endBody(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return;
  const timer = setTimeout(() => body.destroy(), graceMilliseconds).unref();
  body.once('end', () => {
    clearTimeout(timer);
  });
  body.resume();
}
