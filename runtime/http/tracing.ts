import type * as OpenTelemetry from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { whenEnded } from '../dialect/database.js';
import { factsOf } from './request-log.js';

/** The property in which a request keeps its context. */
const own = Symbol('context');

interface Traced {
  [own]?: OpenTelemetry.Context;
}

/** Loaded only by servers with traces. */
async function loadApi(): Promise<typeof OpenTelemetry> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    throw new Error('TRACING is on: run npm install @opentelemetry/api.', { cause: error });
  }
}

/**
 * A span for each request and for each statement, by the SDK that the process has registered. Without
 * an SDK the spans go nowhere.
 */
export default fastifyPlugin(
  async (app) => {
    const { context, propagation, SpanKind, SpanStatusCode, trace } = await loadApi();
    const tracer = trace.getTracer('drs-gen');
    const enter = (request: FastifyRequest & Traced, _reply: FastifyReply, done: () => void) => {
      context.with(request[own] ?? context.active(), done);
    };

    app.addHook('onRequest', (request: FastifyRequest & Traced, reply, done) => {
      const { method, headers, routeOptions } = request;
      const { url: route } = routeOptions;
      if (route?.startsWith('/health') === true) {
        done();
        return;
      }
      const active = context.active();
      // An instrumentation of Node's HTTP server has read the headers already.
      const parent =
        trace.getSpan(active) === undefined ? propagation.extract(active, headers) : active;
      const { dataclass, kind } = factsOf(request);
      const span = tracer.startSpan(
        route === undefined ? method : `${method} ${route}`,
        {
          kind: SpanKind.SERVER,
          attributes: {
            'http.request.method': method,
            'http.route': route,
            'drs.dataclass': dataclass,
            'drs.kind': kind,
            'drs.request_id': request.id,
          },
        },
        parent,
      );
      let isSent = false;
      reply.raw.once('finish', () => {
        isSent = true;
      });
      reply.raw.once('close', () => {
        const { statusCode } = reply;
        if (isSent) span.setAttribute('http.response.status_code', statusCode);
        if (!isSent || statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      });
      request[own] = trace.setSpan(parent, span);
      enter(request, reply, done);
    });
    // In between the body is read, whose events belong to no request.
    app.addHook('preValidation', enter);

    app.setup.wrapStatements(({ sql, isOfState }, _values, run) => {
      const [operation = ''] = sql.split(/\s/, 1);
      const attributes = {
        'db.operation.name': operation,
        'db.query.text': sql,
        ...(isOfState === true ? { 'drs.state': true } : {}),
      };
      const span = tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes });
      const within = trace.setSpan(context.active(), span);
      return whenEnded(
        () => context.with(within, run),
        (_ms, error) => {
          // The message of an error may hold values.
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      );
    });
  },
  { name: 'drs-tracing' },
);
