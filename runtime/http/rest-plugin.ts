import type { FastifyReply, FastifyRequest, FastifyInstance, onRequestHookHandler } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { registerCatalog } from './catalog.js';
import { refuseCrossSite } from './cross-site.js';
import { dataclassHandlers } from './dataclass-handlers.js';
import { answerNotFound } from './errors.js';
import { guardSessions, permissionsOf } from './open-sessions.js';
import type { RequestSession } from '../access/request-session.js';
import type { SessionRecord } from '../access/session-store.js';
import type { EntitySetStore, ListedSet } from '../entity-set/entity-set-store.js';
import { checkParameters } from './parameter-rules.js';
import { readingParameters, parametersOf } from './reading-parameters.js';
import { sendJson, getAndPost } from './reply.js';
import type { RequestSessions } from './request-sessions.js';
import { setRequesterOf } from '../access/session.js';
import type { EntitySets } from '../entity-set/entity-sets.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { readSetting } from '../protocol/environment.js';
import { Exposure } from './exposure.js';
import { methodNotAllowed, protocolError, refuse, RequestError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { readJson } from './body.js';
import type { IncomingHttpHeaders } from 'node:http';

interface ProtocolOptions {
  /** Loads the OpenAPI document of the model. */
  readonly openApi: () => Promise<{ readonly default: object }>;
}

/**
 * The protocol, for the routes of the instance that registers it: bodies are read as the protocol
 * says, errors are sent as `__ERROR`, and what belongs to no dataclass has its routes. Routes of
 * dataclasses find their handlers as `app.dataclass`.
 */
export const protocol = fastifyPlugin(
  async (app, { openApi }: ProtocolOptions) => {
    const { setup, sessions, stores, services } = app;
    const { limits, quotas, answerError, environment } = setup;
    const served = new Set<string>();
    const nothing = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
      answerNotFound(request, reply, served);
    const mediaBodyLimit = Math.max(limits.bodySize, limits.uploadSize);
    app.decorate('dataclass', (definition: DataclassDefinition) => {
      const { name, exposed } = definition;
      if (!exposed) throw new Error(`The model exposes no dataclass ${name}.`);
      served.add(name);
      return dataclassHandlers(app, definition, nothing, mediaBodyLimit);
    });
    app.setChildLoggerFactory((logger) => logger);
    guardRequests(app);
    app.setErrorHandler(answerError);
    guardSessions(app, sessions, {
      stores,
      quotas,
      hasCode: services.classes !== undefined,
      requireLogin: permissionsOf(app)?.requireLogin,
    });
    const exposureOf = async (request: FastifyRequest, reply: FastifyReply): Promise<Exposure> =>
      new Exposure(await sessions.of(request, reply), app.scopes.bits);
    registerInfo(app, sessions, stores.sets, limits);
    registerRelease(app, services.models.ofRequests.context.sets, sessions);
    registerCatalog(app, async (request, reply) =>
      services.models.ofRequests.catalogFor(await exposureOf(request, reply)),
    );
    if (readSetting(environment, 'OPENAPI')) {
      registerOpenApi(app, async (request, reply) => {
        const exposure = await exposureOf(request, reply);
        const { servedDocument } = await import('./openapi-document.js');
        const { default: whole } = await openApi();
        return servedDocument(whole, services.models.ofRequests.parts, exposure, sessions.cookie);
      });
    }
    if (services.media !== undefined) app.register(services.media.routes);
    // Only an instance with a prefix has its own not-found handler.
    await app.register(
      (below, _options, done) => {
        below.setNotFoundHandler(nothing);
        done();
      },
      { prefix: '/rest' },
    );
  },
  { name: 'drs-protocol', dependencies: ['drs-datastore'] },
);

/**
 * `GET /rest/$openapi` (protocol P2.12).
 * @param documentOf what the session of a request may use
 */
function registerOpenApi(
  app: FastifyInstance,
  documentOf: (request: FastifyRequest, reply: FastifyReply) => Promise<Uint8Array>,
): void {
  app.get('/rest/$openapi', async (request, reply) => {
    readingParameters(request, 'the description of the server');
    return sendJson(reply, await documentOf(request, reply));
  });
  app.post('/rest/$openapi', () => {
    throw methodNotAllowed('The description of the server is read with GET.', 'GET, HEAD');
  });
}

/** The privilege that opens the sets and sessions of others in `$info` (`access.md#sessions`). */
const administration = 'WebAdmin';

/**
 * `GET|POST /rest/$info`: the session's own entity sets, lifetime and privileges
 * (`access.md#sessions`).
 */
function registerInfo(
  app: FastifyInstance,
  sessions: RequestSessions,
  store: EntitySetStore,
  { entitySetMemory }: { readonly entitySetMemory: number },
): void {
  getAndPost(app, '/rest/$info', async (request, reply) => {
    readingParameters(request, '$info');
    const session = await sessions.of(request, reply);
    const seesAll = session.hasPrivilege(administration);
    const sets = await setsOf(session, store, seesAll);
    const records = await (seesAll
      ? sessions.sessions.store.list()
      : [session.record ?? []].flat());
    const info = {
      cacheSize: entitySetMemory,
      usedCache: sets.reduce((sum, { keys }) => sum + keys.byteLength, 0),
      entitySetCount: sets.length,
      entitySet: sets.map(setInfo),
      ProgressInfo: [],
      sessionInfo: records.map(sessionInfo),
      privileges: { privileges: [...session.privileges].map((privilege) => ({ privilege })) },
    };
    return sendJson(reply, JSON.stringify(info));
  });
}

async function setsOf(
  { id }: RequestSession,
  store: EntitySetStore,
  seesAll: boolean,
): Promise<readonly ListedSet[]> {
  if (seesAll) return store.list();
  return id === undefined ? [] : store.listOf(id);
}

function setInfo({ id, dataclass, keys, isSorted, refreshed, expires }: ListedSet): object {
  return {
    id,
    dataClass: dataclass,
    tableName: dataclass,
    selectionSize: keys.length,
    sorted: isSorted,
    refreshed: iso(refreshed),
    expires: iso(expires),
  };
}

function sessionInfo({ id, userName, idleTimeout, expires }: SessionRecord): object {
  return { sessionID: id, userName, lifeTime: idleTimeout, expiration: iso(expires) };
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/**
 * `POST /rest/$entityset/$release` with a list of IDs (protocol P9.7). IDs without a set, or with
 * another session's, are ignored.
 */
function registerRelease(app: FastifyInstance, sets: EntitySets, sessions: RequestSessions): void {
  app.post('/rest/$entityset/$release', async (request, reply) => {
    checkParameters(parametersOf(request, 'write'), 'a POST', request.server.setup.settings);
    const ids: unknown = readJson(request.body, request.headers['content-type']);
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
      throw refuse('badBody', 'The body must be a list of entity set IDs: ["7D20F1…","0C9A33…"].');
    }
    const requester = setRequesterOf(await sessions.of(request, reply));
    for (const id of ids) await sets.release(undefined, requester, id.toUpperCase());
    return sendJson(reply, '{"ok":true}');
  });
  app.get('/rest/$entityset/$release', () => {
    throw methodNotAllowed('A list of entity sets to release is sent with POST.', 'POST');
  });
}

/**
 * Guards are added to the routes that need them: every read would pay for a hook of all requests.
 */
function guardRequests(app: FastifyInstance): void {
  acceptEveryBody(app);
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('POST')) return;
    route.onRequest = [guardPost, ...[route.onRequest ?? []].flat()];
  });
}

const guardPost: onRequestHookHandler = (request, _reply, done) => {
  if (request.method === 'POST') {
    refuseCrossSite(request);
    refuseEncodedBody(request.headers);
    passOverContentType(request.headers);
  }
  done();
};

/**
 * Bodies arrive as bytes: clients label JSON with any content type, or with none (protocol P1.9).
 */
function acceptEveryBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // An expression that matches every type: Fastify caches types that it finds by one, unlike '*'.
  app.addContentTypeParser(/^/, { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
}

/** @throws RequestError 415 for a compressed body, with the encoding that is accepted (RFC 9110) */
function refuseEncodedBody({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding === undefined || /^\s*(?:identity\s*)?$/i.test(encoding)) return;
  const message = `The body is sent as it is, without Content-Encoding: ${shortened(encoding)}.`;
  throw new RequestError(415, [protocolError('badBody', message)], {
    'accept-encoding': 'identity',
  });
}

/**
 * Fastify refuses a malformed content type; here the content type has no meaning (protocol P1.9).
 */
function passOverContentType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== undefined && !/^[^\s/;]+\/[^\s/;]+\s*(?:;|$)/.test(type)) {
    delete headers['content-type'];
  }
}
