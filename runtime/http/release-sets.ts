import type { FastifyInstance } from 'fastify';
import { setAskerOf } from '../access/set-asker.js';
import type { EntitySets } from '../entity-set/entity-sets.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { readJson } from './body.js';
import { parametersOf } from './reading-parameters.js';
import { sendJson } from './reply.js';
import type { RequestSessions } from './request-sessions.js';

/**
 * `POST /rest/$entityset/$release` with a list of IDs (protocol section 10.5, decision 16). Sets that do not exist, or are
 * another session's, are passed over.
 */
export function registerRelease(
  app: FastifyInstance,
  sets: EntitySets,
  sessions: RequestSessions,
): void {
  app.post('/rest/$entityset/$release', async (request, reply) => {
    parametersOf(request, 'write');
    const ids: unknown = readJson(request.body, request.headers['content-type']);
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
      throw refuse('badBody', 'The body must be a list of entity set IDs: ["7D20F1…","0C9A33…"].');
    }
    const asker = setAskerOf(await sessions.of(request, reply));
    for (const id of ids) await sets.release(undefined, asker, id.toUpperCase());
    return sendJson(reply, '{"ok":true}');
  });
  app.get('/rest/$entityset/$release', () => {
    throw methodNotAllowed('A list of entity sets to release is sent with POST.', 'POST');
  });
}
