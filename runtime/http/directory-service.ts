import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestSession } from '../access/request-session.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { readJson } from './body.js';
import { refuseCrossSite } from './cross-site.js';
import { readCredentials } from './credentials.js';
import { getAndPost } from './get-and-post.js';
import { parametersOf } from './reading-parameters.js';
import { sendJson } from './reply.js';
import type { RequestSessions } from './request-sessions.js';

/** `$directory/login`, `logout`, `currentUser`, `currentUserBelongsTo` (protocol section 16.5, decisions 18 and 20). */
export function registerDirectory(app: FastifyInstance, sessions: RequestSessions): void {
  app.post('/rest/$directory/login', async (request, reply) => {
    refuseParameters(request);
    const { body, headers } = request;
    const { user, password, idleTimeout } = readCredentials(body, headers);
    const session = await sessions.of(request, reply);
    const isIn = await session.logIn(user, password, idleTimeout);
    return sendResult(reply.code(isIn ? 200 : 401), isIn);
  });
  getAndPost(app, '/rest/$directory/logout', async (request, reply) => {
    refuseParameters(request);
    refuseCrossSite(request);
    const session = await sessions.of(request, reply);
    return sendResult(reply, session.logOut());
  });
  getAndPost(app, '/rest/$directory/currentUser', async (request, reply) => {
    refuseParameters(request);
    return sendResult(reply, currentUser(await sessions.of(request, reply)));
  });
  app.post('/rest/$directory/currentUserBelongsTo', async (request, reply) => {
    refuseParameters(request);
    const groups = readGroups(request);
    const session = await sessions.of(request, reply);
    return sendResult(
      reply,
      groups.some((group) => session.hasPrivilege(group)),
    );
  });
  for (const name of ['login', 'currentUserBelongsTo']) {
    app.get(`/rest/$directory/${name}`, () => {
      throw methodNotAllowed(`$directory/${name} is sent with POST.`, 'POST');
    });
  }
}

/** A user has no key here: the name is the ID. A session that class code gave privileges to may have no name. */
function currentUser({ isGuest, userName }: RequestSession): object | null {
  return isGuest ? null : { userName, fullName: userName, ID: userName };
}

function refuseParameters(request: FastifyRequest): void {
  const parameters = parametersOf(request, 'write');
  const isEmpty = Object.values(parameters).every((each) => each === undefined || each === false);
  if (!isEmpty) throw refuse('methodNotApplicable', '$directory takes no parameters.');
}

/** Groups are privileges here: one, or a list of which one is enough. */
function readGroups({ body, headers }: FastifyRequest): readonly string[] {
  const json = readJson(body, headers['content-type']);
  const groups: unknown = typeof json === 'string' ? [json] : json;
  if (Array.isArray(groups) && groups.every((each) => typeof each === 'string')) return groups;
  throw refuse('badBody', 'The body must be a list of names of privileges: ["manageStaff"].');
}

function sendResult(reply: FastifyReply, result: boolean | object | null): FastifyReply {
  return sendJson(reply, JSON.stringify({ result }));
}
