import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Calls } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { SettledRequests } from '../class-code/settled-requests.js';
import type { ComputedRequests } from '../query/computed-requests.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { type Sent, sentBy } from './sent.js';
import type { SessionOf } from './served-classes.js';

/**
 * What asks class code; the classes are made later.
 * @param hostOf gives them, when the first request comes
 */
export function computedRequests(hostOf: () => ClassHost | undefined): ComputedRequests {
  let requests: SettledRequests | undefined;
  return {
    settle(request) {
      if (requests === undefined) {
        const host = hostOf();
        if (host === undefined) throw new Error('The classes of the model are not given.');
        requests = new SettledRequests(host);
      }
      return requests.settle(request);
    },
  };
}

/** Handlers whose class code knows the session that it runs for: a read runs accessors. */
export function handlersInCall(
  handlers: DataclassHandlers,
  calls: Calls,
  sessionOf: SessionOf,
): DataclassHandlers {
  const reading =
    <Q extends FastifyRequest>(read: (request: Q, reply: FastifyReply) => void) =>
    (request: Q, reply: FastifyReply): void => {
      const run = (session: Session): void => {
        calls.run({ session }, () => {
          read(request, reply);
        });
      };
      const session = sessionOf(request, reply);
      if (!(session instanceof Promise)) run(session);
      else {
        session.then(run).catch((error: unknown) => {
          reply.send(error);
        });
      }
    };
  const writing =
    <Q extends FastifyRequest>(write: (request: Q, reply: FastifyReply) => Sent) =>
    (request: Q, reply: FastifyReply): Sent =>
      sentBy(reply, sessionOf(request, reply), (session) =>
        calls.run({ session }, () => write(request, reply)),
      );
  return {
    readCollection: reading((request, reply) => {
      handlers.readCollection(request, reply);
    }),
    readEntity: reading((request, reply) => {
      handlers.readEntity(request, reply);
    }),
    readByValue: reading((request, reply) => {
      handlers.readByValue(request, reply);
    }),
    readEntitySet: reading((request, reply) => {
      handlers.readEntitySet(request, reply);
    }),
    writeCollection: writing((request, reply) => handlers.writeCollection(request, reply)),
    writeEntity: writing((request, reply) => handlers.writeEntity(request, reply)),
    writeAttributes: writing((request, reply) => handlers.writeAttributes(request, reply)),
    writeEntitySet: writing((request, reply) => handlers.writeEntitySet(request, reply)),
  };
}
