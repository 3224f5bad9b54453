import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendAsyncHookHandler,
} from 'fastify';
import {
  ConflictError,
  DatabaseUnavailableError,
  QueryTimeoutError,
  UnusableValueError,
} from '../dialect/executor.js';
import { failureOf, SaveError } from '../class/objects/failure.js';
import { PermissionError } from '../protocol/errors.js';
import { refuseCrossSite } from './cross-site.js';
import type { RequestScope } from '../access/request-scope.js';
import type { Session } from '../access/session.js';

/**
 * Identifies the requester before the hooks of a route that the user adds, and runs its handler
 * with the requester's privileges. It is added to the routes, because a hook of the server would
 * run for each request below `/rest` as well.
 */
export function prepareOwnRoutes(app: FastifyInstance): void {
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    // The server's own routes are in the instance with the protocol.
    if (this.hasDecorator('dataclass')) return;
    const { handler } = route;
    const answer = route.errorHandler as AnswerError | undefined;
    route.onRequest = [findSession, ...[route.onRequest ?? []].flat()];
    // In between the body is read, whose events belong to no request.
    route.preValidation = [enterScope, ...[route.preValidation ?? []].flat()];
    route.onSend = [...[route.onSend ?? []].flat(), drsSynchronizeSession];
    route.handler = function (request, reply) {
      return inScope(request, reply, () => handler.call(this, request, reply));
    };
    // Fastify sends what it returns.
    route.errorHandler = function (error, request, reply): unknown {
      const answered = asAnswer(request, error) as FastifyError;
      if (answer !== undefined) return answer.call(this, answered, request, reply);
      void reply.send(answered);
      return undefined;
    };
  });
}

type AnswerError = (
  this: FastifyInstance,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
) => unknown;

/** Adds `request.session` and `request.ds`. */
export function decorateOwnRequests(app: FastifyInstance): void {
  app.decorateRequest('session', {
    getter(this: FastifyRequest) {
      return sessionOf(this);
    },
  });
  app.decorateRequest('ds', {
    getter(this: FastifyRequest) {
      // A request with an invalid token must not read anybody's data.
      sessionOf(this);
      return this.server.services.requestDatastore();
    },
  });
}

const failure = Symbol('failure');

interface Failed {
  [failure]?: unknown;
}

function sessionOf(request: FastifyRequest): Session {
  if (failure in request) throw (request as Failed)[failure];
  const known = request.server.sessions.known(request);
  if (known !== undefined) return known;
  throw new Error(
    'request.session is not known yet: use it in the handler, or in a hook from preValidation on, of a route outside of /rest.',
  );
}

/**
 * An invalid token, which may be meant for the user's own code, and a change that a page of another
 * site requests, are refused when code uses the session. Until then the request is a guest's.
 */
const findSession: onRequestHookHandler = (request, reply, done) => {
  const find = async (): Promise<void> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseCrossSite(request);
    await request.server.sessions.of(request, reply);
  };
  void find()
    .catch((error: unknown) => {
      (request as Failed)[failure] = error;
    })
    .then(() => {
      enterScope(request, reply, done);
    });
};

/** The rest of the request, including hooks, runs with the requester's privileges. */
const enterScope = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
  inScope(request, reply, done);
};

/** An answer is sent only after all servers know the changes of its session. */
const drsSynchronizeSession: onSendAsyncHookHandler = async (request) => {
  const { stores, sessions } = request.server;
  if (stores.sessions.isShared) await sessions.known(request)?.synchronize();
};

/** The property in which a request keeps its scope: its hooks and its handler share what `restrict` returned. */
const entered = Symbol('scope');

interface Entered {
  [entered]?: RequestScope;
}

function inScope(
  request: FastifyRequest & Entered,
  reply: FastifyReply,
  work: () => unknown,
): unknown {
  const { scopes, sessions } = request.server;
  const session = sessions.known(request) ?? sessions.guest(request, reply);
  const before = request[entered];
  const scope = before === undefined ? scopes.of(session, request.id) : scopes.renewed(before);
  request[entered] = scope;
  return scopes.run(scope, work);
}

/**
 * Errors of the datastore have the status that they have below `/rest`, and name nothing that the
 * requester may not know.
 */
function asAnswer(request: FastifyRequest, error: unknown): unknown {
  const { reportError } = request.server.setup;
  if (error instanceof PermissionError || error instanceof SaveError) {
    return reportError(failureOf('A route', error), request);
  }
  const isKnown =
    error instanceof ConflictError ||
    error instanceof DatabaseUnavailableError ||
    error instanceof QueryTimeoutError ||
    error instanceof UnusableValueError;
  return isKnown ? reportError(error, request) : error;
}
