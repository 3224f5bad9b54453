import type { FastifyReply, FastifyRequest } from 'fastify';
import { entitiesOf, may, requireBits } from '../access/bits.js';
import type { Session } from '../access/session.js';
import type { Bits, DataAccess } from '../protocol/definition.js';
import type { DeniedAction } from '../protocol/errors.js';
import { parametersOf, readsByBody } from './reading-parameters.js';
import { partsOf } from './service-context.js';

type Check = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * The check of a route that reads, or that calls a function: a session passes if it holds all bits
 * (`access.md#what-roles-do`).
 * @throws RequestError 401 for a guest, 403 for others
 */
export function allow(needed: Bits): Check {
  return async (request, reply) => {
    const session = await request.server.sessions.of(request, reply);
    const isCall = request.routeOptions.config.function !== undefined;
    requireAtRoute(request, session, isCall ? 'execute' : 'read', needed);
  };
}

/**
 * The check of a route that takes POST. A save needs the bits of `create` or those of `update`: which
 * of both is known when its entities are found.
 * @throws RequestError 401 for a guest, 403 for others, 400 for wrong parameters
 */
export function allowWrite(access: DataAccess): Check {
  return async (request, reply) => {
    const session = await request.server.sessions.of(request, reply);
    const action = postedAction(request);
    if (action !== 'save') {
      requireAtRoute(request, session, action, access[action]);
      return;
    }
    const held = request.server.scopes.heldBy(session);
    if (may(held, access.create) || may(held, access.update)) return;
    const needed = isChange(request) ? 'update' : 'create';
    requireAtRoute(request, session, needed, access[needed]);
  };
}

/** What the handlers do with a POST, unless they refuse it. */
function postedAction(request: FastifyRequest): 'read' | 'update' | 'drop' | 'save' {
  const { method, lock, filter, atMost, rawPict, binary } = parametersOf(request, 'read');
  const { attributes, '*': path } = partsOf(request);
  // At an address of attributes or of a set, entities are changed and not created.
  const isBelow = attributes !== undefined || path !== undefined;
  switch (method) {
    case 'delete':
      return 'drop';
    case 'entityset':
    case 'subentityset':
    case 'release':
      return 'read';
    case 'update':
      return isBelow || filter !== undefined || atMost !== undefined ? 'update' : 'save';
    case undefined:
      if (rawPict !== undefined || binary) return 'update';
      return isBelow || lock !== undefined || readsByBody(request) ? 'read' : 'save';
    default:
      return 'save';
  }
}

/** An entity with a stamp is one that exists. */
function isChange({ body, headers }: FastifyRequest): boolean {
  return headers['if-match'] !== undefined || (Buffer.isBuffer(body) && body.includes('"__STAMP"'));
}

/** @throws RequestError as {@link requireBits} */
function requireAtRoute(
  { server, routeOptions }: FastifyRequest,
  session: Session,
  action: DeniedAction,
  needed: Bits | undefined,
): void {
  const { dataclass = '', function: called } = routeOptions.config;
  const what = called === undefined ? entitiesOf(dataclass) : `the function "${called}"`;
  const held = server.scopes.heldBy(session);
  requireBits({ session, held }, action, needed, what);
}
