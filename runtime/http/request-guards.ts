import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { refuseCrossSite } from './cross-site.js';
import { sendError } from './reply.js';

const allowedMethods = new Set(['GET', 'HEAD', 'POST']);

/** What bodies may have, in bytes. */
interface ImageBodies {
  /** Addresses whose bodies may be larger than others. */
  readonly addresses: ReadonlySet<string>;
  readonly size: number;
}

/** Guards are put on the routes that need them: what runs for every request is paid for by every read. */
export function guardRequests(app: FastifyInstance, images: ImageBodies): void {
  acceptEveryBody(app);
  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST') return;
    if (images.addresses.has(route.url)) route.bodyLimit = images.size;
    route.onRequest = (request, _reply, done) => {
      refuseCrossSite(request.headers);
      passOverContentType(request.headers);
      done();
    };
  });
  app.setNotFoundHandler(answerNotFound);
}

/** Bodies arrive as bytes: clients label JSON as all sorts of things, or send none with a label (protocol decision 3). */
function acceptEveryBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
}

/** Fastify refuses a content type that is none; here it says nothing, whatever it is (protocol decision 3). */
function passOverContentType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== undefined && !/^[^\s/;]+\/[^\s/;]+\s*(?:;|$)/.test(type)) {
    delete headers['content-type'];
  }
}

function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (allowedMethods.has(request.method)) {
    return sendError(reply, refuse('notFound', 'Nothing is at this address.'));
  }
  const message = `${request.method} is not served: read with GET, change with POST.`;
  return sendError(reply, methodNotAllowed(message, 'GET, HEAD, POST'));
}
