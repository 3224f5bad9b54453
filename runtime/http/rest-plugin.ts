import type { FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { registerCatalog } from './catalog.js';
import { allowOrigins } from './cross-site.js';
import { lazyRoutes } from './dataclass-handlers.js';
import { registerInfo } from './info-service.js';
import { answerNotFound } from './not-found.js';
import { guardSessions } from './open-sessions.js';
import { registerRelease } from './release-sets.js';
import { guardRequests } from './request-guards.js';
import { permissionsOf } from './served-permissions.js';

/**
 * The protocol, for the routes of the instance that registers it: bodies are read as the protocol says, errors are told by
 * `__ERROR`, and what belongs to no dataclass has its routes. Routes of dataclasses find their handlers as `app.dataclass`.
 */
export const protocol = fastifyPlugin(
  async (app) => {
    const { setup, definitions, sessions, stores, services } = app;
    const { settings, limits, origins, quotas, answerError } = setup;
    const served = new Set<string>();
    const nothing = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
      answerNotFound(request, reply, served);
    const imageBodyLimit = Math.max(limits.bodySize, limits.uploadSize);
    app.decorate('dataclass', (name: string) => {
      if (!definitions.some((each) => each.name === name && each.exposed)) {
        throw new Error(`The model exposes no dataclass ${name}.`);
      }
      served.add(name);
      return lazyRoutes(() => services.handlersOf(name), nothing, imageBodyLimit);
    });
    app.setChildLoggerFactory((logger) => logger);
    // Before all that may refuse a request: a page is told why.
    await allowOrigins(app, origins);
    guardRequests(app);
    app.setErrorHandler(answerError);
    guardSessions(app, sessions, {
      stores,
      quotas,
      hasCode: services.functions !== undefined,
      requireLogin: permissionsOf(app)?.requireLogin,
    });
    registerInfo(app, sessions, stores.sets, limits);
    registerRelease(app, services.context.sets, sessions);
    registerCatalog(app, settings, services.catalogOf);
    if (services.media !== undefined) app.register(services.media.routes);
    // Only a prefix keeps a handler for what is not found to itself.
    app.register(
      (below, _options, done) => {
        below.setNotFoundHandler(nothing);
        done();
      },
      { prefix: '/rest' },
    );
  },
  { name: 'drs-protocol', dependencies: ['drs-datastore'] },
);
