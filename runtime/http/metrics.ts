import type { Server } from 'node:http';
import { fastifyPlugin } from 'fastify-plugin';
import { whenEnded } from '../dialect/database.js';
import { type Environment, readSetting } from '../protocol/environment.js';
import { http } from './node-http.js';
import type * as Prometheus from 'prom-client';
import { factsOf } from './request-log.js';

/** Loaded only by servers with metrics. */
async function loadClient(): Promise<typeof Prometheus> {
  try {
    return await import('prom-client');
  } catch (error) {
    throw new Error('METRICS_PORT is set: run npm install prom-client.', { cause: error });
  }
}

/**
 * The buckets of durations in seconds: a read by its key takes less than a millisecond, a long one
 * may take minutes.
 */
const buckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/**
 * Measures requests and statements. Labels have few values, which no client can make up: names of
 * the model, kinds of requests, statuses.
 */
export default fastifyPlugin<{ readonly port: number }>(
  async (app, { port }) => {
    const { setup } = app;
    const { AggregatorRegistry, collectDefaultMetrics, Histogram, Registry } = await loadClient();
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const requests = new Histogram({
      name: 'drs_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its answer.',
      labelNames: ['dataclass', 'kind', 'status'],
      buckets,
      registers: [registry],
    });
    const statements = new Histogram({
      name: 'drs_statement_duration_seconds',
      help: 'Time of an SQL statement on the data, with the time that it waits.',
      buckets,
      registers: [registry],
    });
    const ofState = new Histogram({
      name: 'drs_state_statement_duration_seconds',
      help: 'Time of the SQL statements of the state (sessions, entity sets, locks), with the time that they wait.',
      buckets,
      registers: [registry],
    });
    app.addHook('onResponse', (request, reply, done) => {
      const { dataclass = '', kind } = factsOf(request);
      requests.observe({ dataclass, kind, status: reply.statusCode }, reply.elapsedTime / 1_000);
      done();
    });
    setup.wrapStatements(({ isOfState }, _values, run) =>
      whenEnded(run, (ms) => {
        (isOfState === true ? ofState : statements).observe(ms / 1_000);
      }),
    );
    if (setup.processes > 1) {
      // The first process asks this one for its metrics.
      AggregatorRegistry.setRegistries([registry]);
      new AggregatorRegistry();
      return;
    }
    let server: Server | undefined;
    app.addHook('onReady', async () => {
      server = await serveMetrics(port, setup.environment, () => registry.metrics());
    });
    app.addHook('onClose', async () => {
      if (server !== undefined) await close(server);
    });
  },
  { name: 'drs-metrics' },
);

/**
 * Serves the metrics of all processes of a server, from the first one.
 * @throws Error if the port is in use
 */
export async function serveMetricsOfProcesses(
  port: number,
  environment: Environment,
): Promise<void> {
  const { AggregatorRegistry } = await loadClient();
  const registry = new AggregatorRegistry();
  const server = await serveMetrics(port, environment, () => registry.clusterMetrics());
  server.unref();
}

function serveMetrics(
  port: number,
  environment: Environment,
  read: () => Promise<string>,
): Promise<Server> {
  const server = http.createServer((request, response) => {
    const isScrape = request.url === '/metrics' && request.method === 'GET';
    if (!isScrape) {
      response.writeHead(404).end();
      return;
    }
    read().then(
      (text) => {
        response.writeHead(200, { 'content-type': contentType }).end(text);
      },
      () => {
        // One of the processes is starting, or does not answer.
        response.writeHead(503, { 'retry-after': '5' }).end();
      },
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, readSetting(environment, 'HOST'), () => {
      resolve(server);
    });
  });
}

/** The content type of Prometheus' text format. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
