import type { Server } from 'node:http';
import { type FastifyHttpOptions, type FastifyServerOptions, LogController } from 'fastify';
import type { Environment } from '../protocol/environment.js';
import { answerClientError } from './client-error.js';
import type { ErrorHandler } from './errors.js';
import { maxUrlLength } from './reading-parameters.js';
import { rewriteUrl } from './rewrite-url.js';
import { type Limits, trustedProxies } from './settings.js';

interface FastifySettings {
  readonly limits: Pick<Limits, 'bodySize'>;
  readonly environment: Environment;
  /** Fastify's own; costs a tenth of a small read, also where it writes nothing. */
  readonly logger: FastifyServerOptions['logger'];
  readonly answerError: ErrorHandler;
}

/** How Fastify and the HTTP server below it are set up. */
export function fastifyOptions(settings: FastifySettings): FastifyHttpOptions<Server> {
  const { limits, environment, logger, answerError } = settings;
  return {
    logger: logger ?? false,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodySize,
    trustProxy: trustedProxies(environment),
    // A client that stops in the middle of a request holds its connection no longer than this.
    requestTimeout: 60_000,
    return503OnClosing: false,
    rewriteUrl: (request) => rewriteUrl(request.url ?? '/'),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    http: { maxHeaderSize: maxUrlLength + 16 * 1024 },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxUrlLength },
  };
}
