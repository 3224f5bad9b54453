import type { FastifyInstance, FastifyRequest } from 'fastify';
import { whenThere } from '../dialect/pending.js';
import { refuse } from '../protocol/errors.js';
import type { RequestSessions } from './request-sessions.js';

/** What a guest may read: the model, who the guest is, whether the server lives. */
const openAddresses: ReadonlySet<string> = new Set([
  '/rest/$catalog',
  '/rest/$catalog/$all',
  '/rest/$catalog/:names',
  '/rest/$directory/login',
  '/rest/$directory/logout',
  '/rest/$directory/currentUser',
  '/rest/$directory/currentUserBelongsTo',
]);

const authentify = '/rest/$catalog/authentify';

/**
 * Refuses guests everything but descriptive requests and logging in (protocol section 16.2), whether there is something at the
 * address or not.
 */
export function requireLogin(app: FastifyInstance, sessions: RequestSessions): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isOpen(request)) {
      done();
      return;
    }
    const checked = whenThere(sessions.of(request, reply), (session) => {
      done(session.isGuest ? loginRequired() : undefined);
    });
    if (checked instanceof Promise) checked.catch(done);
  });
}

function isOpen({ routeOptions, url, method }: FastifyRequest): boolean {
  const address = routeOptions.url ?? url;
  if (openAddresses.has(address) || !address.startsWith('/rest')) return true;
  return address === authentify && method === 'POST';
}

function loginRequired(): Error {
  return refuse('loginRequired', 'Log in first: POST /rest/$directory/login.');
}
