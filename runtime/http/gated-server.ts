import type { FastifyServerFactory } from 'fastify';
import { watchedResponse } from './held-answers.js';
import type { LoadSettings } from './load-settings.js';
import { http } from './node-http.js';
import type { RequestGate } from './request-gate.js';

/** Bytes of an address and all headers together; beyond them it is 431. */
export interface HeaderSize {
  readonly maxHeaderSize: number;
}

/** How often clients that are too slow are looked for, at most, in milliseconds. */
const longestInterval = 30_000;

/** Makes HTTP servers that pass on what the gate lets in. */
export function gatedServers(
  gate: RequestGate,
  { requestTimeout, keepAliveTimeout, maxConnections }: LoadSettings,
  { maxHeaderSize }: HeaderSize,
): FastifyServerFactory {
  return (handler) => {
    const server = http.createServer(
      {
        maxHeaderSize,
        ServerResponse: watchedResponse(gate.held, gate.spent),
        keepAliveTimeout: keepAliveTimeout * 1000,
        // A connection that sends nothing, or never the end of a request, is closed by these.
        requestTimeout: requestTimeout * 1000,
        headersTimeout: requestTimeout * 1000,
        connectionsCheckingInterval: Math.min(longestInterval, requestTimeout * 500),
      },
      (request, response) => {
        if (!gate.admits(request, response)) return;
        handler(request, response);
        gate.leave(request, response);
      },
    );
    server.maxConnections = maxConnections;
    server.on('listening', () => {
      gate.open();
    });
    server.on('close', () => {
      gate.close();
    });
    return server;
  };
}
