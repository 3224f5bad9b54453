import type { Server } from 'node:http';
import { type FastifyHttpOptions, type FastifyServerOptions, LogController } from 'fastify';
import type { Environment } from '../protocol/environment.js';
import { answerClientError } from './client-error.js';
import type { ErrorHandler } from './errors.js';
import { gatedServers } from './gated-server.js';
import { parseQuery } from './known-queries.js';
import type { LoadSettings } from './load-settings.js';
import { maxUrlLength } from './reading-parameters.js';
import type { RequestGate } from './request-gate.js';
import { rewriteUrl } from './rewrite-url.js';
import { type Limits, trustedProxies } from './settings.js';

interface FastifySettings {
  readonly limits: Pick<Limits, 'bodySize'>;
  readonly environment: Environment;
  /** Fastify's own; costs a tenth of a small read, also where it writes nothing. */
  readonly logger: FastifyServerOptions['logger'];
  readonly answerError: ErrorHandler;
  readonly gate: RequestGate;
  readonly load: LoadSettings;
}

/** How Fastify and the HTTP server below it are set up. */
export function fastifyOptions(settings: FastifySettings): FastifyHttpOptions<Server> {
  const { limits, environment, logger, answerError, gate, load } = settings;
  return {
    logger: logger ?? false,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodySize,
    trustProxy: trustedProxies(environment),
    return503OnClosing: false,
    rewriteUrl: (request) => rewriteUrl(request.url ?? '/'),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    serverFactory: gatedServers(gate, load, { maxHeaderSize: maxUrlLength + 16 * 1024 }),
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: maxUrlLength,
      querystringParser: parseQuery,
    },
  };
}
