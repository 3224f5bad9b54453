import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { refuseCrossSite } from './cross-site.js';
import { receiveBody } from './receive-body.js';

/** Guards are put on the routes that need them: what runs for every request is paid for by every read. */
export function guardRequests(app: FastifyInstance): void {
  acceptEveryBody(app);
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('POST')) return;
    route.onRequest = [guardPost, ...[route.onRequest ?? []].flat()];
  });
}

const guardPost: onRequestHookHandler = (request, _reply, done) => {
  if (request.method === 'POST') {
    refuseCrossSite(request);
    passOverContentType(request.headers);
  }
  done();
};

/** Bodies arrive as bytes: clients label JSON as all sorts of things, or send none with a label (protocol decision 3). */
function acceptEveryBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const { bodyLimit = 0 } = app.initialConfig;
  // An expression that every type matches: what Fastify finds by one it finds at once the next time, unlike '*'.
  app.addContentTypeParser(/^/, (request, payload, done) => {
    receiveBody(request, payload, bodyLimit, done);
  });
}

/** Fastify refuses a content type that is none; here it says nothing, whatever it is (protocol decision 3). */
function passOverContentType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== undefined && !/^[^\s/;]+\/[^\s/;]+\s*(?:;|$)/.test(type)) {
    delete headers['content-type'];
  }
}
