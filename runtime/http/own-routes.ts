import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
} from 'fastify';
import {
  ConflictError,
  DatabaseUnavailableError,
  QueryTimeoutError,
  UnusableValueError,
} from '../dialect/executor.js';
import { whenThere } from '../dialect/pending.js';
import { failureOf, SaveError } from '../class/failure.js';
import { PermissionError } from '../protocol/errors.js';
import { refuseCrossSite } from './cross-site.js';
import type { Session } from '../access/session.js';

/**
 * Finds out who asks before the hooks of a route that the user adds, and runs its handler with what the caller may do. This is
 * added to the routes, since a hook of the server would run for each request below `/rest` as well.
 */
export function prepareOwnRoutes(app: FastifyInstance): void {
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    // The server's own routes are those of the instance with the protocol.
    if (this.hasDecorator('dataclass')) return;
    const { handler, errorHandler } = route;
    route.onRequest = [findSession, ...[route.onRequest ?? []].flat()];
    // A body is read in between, whose events belong to no request.
    route.preValidation = [enterCall, ...[route.preValidation ?? []].flat()];
    route.onSend = [...[route.onSend ?? []].flat(), drsSettleSession];
    route.handler = function (request, reply) {
      return inCall(request, reply, () => handler.call(this, request, reply));
    };
    route.errorHandler = function (error, request, reply) {
      const told = asAnswer(request, error) as FastifyError;
      if (errorHandler === undefined) void reply.send(told);
      else errorHandler.call(this, told, request, reply);
    };
  });
}

/** Adds `request.session` and `request.ds`. */
export function decorateOwnRequests(app: FastifyInstance): void {
  app.decorateRequest('session', {
    getter(this: FastifyRequest) {
      return sessionOf(this);
    },
  });
  app.decorateRequest('ds', {
    getter(this: FastifyRequest) {
      // Nobody's data is there for a token that is not right.
      sessionOf(this);
      return this.server.services.callersDatastore();
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
 * What is wrong with a token, which may be meant for the user's own code, and a change that a page of another site asks for, are
 * refused when somebody asks for the session. Until then the request is a guest's.
 */
const findSession: onRequestHookHandler = (request, reply, done) => {
  const failed = (error: unknown): void => {
    (request as Failed)[failure] = error;
    enterCall(request, reply, done);
  };
  try {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseCrossSite(request);
    const found = whenThere(request.server.sessions.of(request, reply), () => {
      enterCall(request, reply, done);
    });
    if (found instanceof Promise) found.catch(failed);
  } catch (error) {
    failed(error);
  }
};

/** What comes next of the request, hooks among it, may do what the caller may. */
const enterCall = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
  inCall(request, reply, done);
};

/** Where several processes serve, an answer tells of a session what it has become by all of them. */
const drsSettleSession: onSendHookHandler = (request, _reply, payload, done) => {
  const { stores, sessions } = request.server;
  try {
    if (stores.sessions.isShared) sessions.known(request)?.settle();
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, payload);
};

function inCall(request: FastifyRequest, reply: FastifyReply, work: () => unknown): unknown {
  const { calls, services, sessions } = request.server;
  const session = sessions.known(request) ?? sessions.guest(request, reply);
  return calls.run(services.callOf(session), work);
}

/** Errors of the datastore have the status that they have below `/rest`, and name nothing that the caller may not know. */
function asAnswer(request: FastifyRequest, error: unknown): unknown {
  const { tellError } = request.server.setup;
  if (error instanceof PermissionError || error instanceof SaveError) {
    return tellError(failureOf('A route', error), request);
  }
  const isKnown =
    error instanceof ConflictError ||
    error instanceof DatabaseUnavailableError ||
    error instanceof QueryTimeoutError ||
    error instanceof UnusableValueError;
  return isKnown ? tellError(error, request) : error;
}
