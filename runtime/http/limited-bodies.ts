import { Transform } from 'node:stream';
import type { FastifyRequest, preParsingHookHandler } from 'fastify';
import { bodyTooLarge } from './receive-body.js';

/** Options of a Fastify route. */
export interface BodyLimit {
  readonly bodyLimit?: number;
  readonly preParsing?: preParsingHookHandler;
}

/**
 * Lets some requests of one route have larger bodies than the others. What is too large is refused before it is read, or as
 * soon as so much has come of a body whose length is not told.
 * @param usual bytes that a body may have
 * @param large bytes that one may have where `isLarge` tells so
 */
export function limitedBodies(
  usual: number,
  large: number,
  isLarge: (request: FastifyRequest) => boolean,
): BodyLimit {
  if (large <= usual) return {};
  return {
    bodyLimit: large,
    preParsing: (request, reply, payload, done) => {
      if (isLarge(request)) {
        done(null, payload);
        return;
      }
      const length = request.headers['content-length'];
      if (length !== undefined && Number(length) <= usual) {
        done(null, payload);
        return;
      }
      if (length === undefined) {
        done(null, payload.pipe(atMost(usual)));
        return;
      }
      // The client may go on sending.
      reply.header('connection', 'close');
      done(bodyTooLarge(usual));
    },
  };
}

function atMost(bytes: number): Transform {
  let received = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, next) => {
      received += chunk.length;
      if (received > bytes) next(bodyTooLarge(bytes));
      else next(null, chunk);
    },
  });
}
