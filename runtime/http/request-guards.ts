import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refuseCrossSite } from './cross-site.js';
import { answerNotFound } from './not-found.js';
import { receiveBody } from './receive-body.js';

/**
 * Guards are put on the routes that need them: what runs for every request is paid for by every read. A route of POST that has
 * an `onRequest` of its own calls {@link guardPost} itself.
 */
export function guardRequests(app: FastifyInstance): void {
  acceptEveryBody(app);
  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST' || route.onRequest !== undefined) return;
    route.onRequest = (request, _reply, done) => {
      guardPost(request.headers);
      done();
    };
  });
  app.setNotFoundHandler((request, reply) => answerNotFound(request, reply));
}

/** @throws RequestError 403 for what a browser sends for another site's page */
export function guardPost(headers: IncomingHttpHeaders): void {
  refuseCrossSite(headers);
  passOverContentType(headers);
}

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
