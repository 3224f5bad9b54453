import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestSession } from '../access/request-session.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { readJson } from './body.js';
import { refuseCrossSite } from './cross-site.js';
import { parametersOf } from './reading-parameters.js';
import { sendJson, getAndPost } from './reply.js';
import type { RequestSessions } from './request-sessions.js';
import type { IncomingHttpHeaders } from 'node:http';
import { requireOnly } from './parameter-rules.js';

/** `$directory/login`, `logout`, `currentUser`, `currentUserBelongsTo` (`access.md#sessions`). */
export function registerDirectory(app: FastifyInstance, sessions: RequestSessions): void {
  app.post('/rest/$directory/login', async (request, reply) => {
    requireOnly(parametersOf(request, 'write'), '$directory');
    const { body, headers } = request;
    const { user, password, idleTimeout } = readCredentials(body, headers);
    const session = await sessions.of(request, reply);
    const isIn = await session.logIn(user, password, idleTimeout);
    return sendResult(reply.code(isIn ? 200 : 401), isIn);
  });
  getAndPost(app, '/rest/$directory/logout', async (request, reply) => {
    requireOnly(parametersOf(request, 'write'), '$directory');
    refuseCrossSite(request);
    const session = await sessions.of(request, reply);
    return sendResult(reply, session.logOut());
  });
  getAndPost(app, '/rest/$directory/currentUser', async (request, reply) => {
    requireOnly(parametersOf(request, 'write'), '$directory');
    return sendResult(reply, currentUser(await sessions.of(request, reply)));
  });
  app.post('/rest/$directory/currentUserBelongsTo', async (request, reply) => {
    requireOnly(parametersOf(request, 'write'), '$directory');
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

/**
 * A user has no key here: the name is the ID. A session that got its privileges from class code may
 * have no name.
 */
function currentUser({ isGuest, userName }: RequestSession): object | null {
  return isGuest ? null : { userName, fullName: userName, ID: userName };
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

interface Credentials {
  readonly user: string;
  readonly password: string;
  /** Seconds without a request after which the session is to end. */
  readonly idleTimeout: number | undefined;
}

/** The shortest idle timeout that the header can name, in minutes (`access.md#sessions`). */
const shortestMinutes = 60;

/**
 * User and password of a login: the headers `username-4D`, `password-4D` and `session-4D-length`
 * (minutes), or a body `[user, password, seconds]` or `{"user", "password", "seconds"}`
 * (`access.md#sessions`). Without a user, the user is an empty text, which no login knows.
 * @throws RequestError 400 if the body is neither; the message does not repeat what was sent
 */
function readCredentials(body: unknown, headers: IncomingHttpHeaders): Credentials {
  const user = headers['username-4d'];
  if (user !== undefined) return ofHeaders(String(user), headers);
  // A text that cannot be read as JSON may be a password.
  const json = readJson(body, headers['content-type'], 'members', 'The body is not JSON.');
  if (json === undefined) return { user: '', password: '', idleTimeout: undefined };
  if (Array.isArray(json)) {
    const [name, password, seconds, ...others] = json as readonly unknown[];
    if (others.length > 0) throw wrong();
    return checked(name, password, seconds);
  }
  if (typeof json !== 'object' || json === null) throw wrong();
  const { user: name, userName, password, seconds } = json as Readonly<Record<string, unknown>>;
  return checked(name ?? userName, password, seconds);
}

function ofHeaders(user: string, headers: IncomingHttpHeaders): Credentials {
  const password = String(headers['password-4d'] ?? '');
  const length = headers['session-4d-length'];
  if (length === undefined)
    return { user: utf8(user), password: utf8(password), idleTimeout: undefined };
  const minutes = Number(length);
  if (!/^\d{1,9}$/.test(String(length))) {
    throw refuse('badBody', 'session-4D-length must be a whole number of minutes.');
  }
  const idleTimeout = Math.max(minutes, shortestMinutes) * 60;
  return { user: utf8(user), password: utf8(password), idleTimeout };
}

/**
 * Node reads headers as Latin-1; clients send names in other scripts as UTF-8. A text that is not
 * UTF-8 stays as it is.
 */
function utf8(text: string): string {
  const decoded = Buffer.from(text, 'latin1').toString('utf8');
  return decoded.includes('\ufffd') ? text : decoded;
}

function checked(user: unknown, password: unknown, seconds: unknown): Credentials {
  if (typeof user !== 'string' || typeof password !== 'string') throw wrong();
  if (seconds === undefined || seconds === null) return { user, password, idleTimeout: undefined };
  if (typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0) {
    return { user, password, idleTimeout: seconds };
  }
  throw wrong();
}

function wrong(): Error {
  return refuse(
    'badBody',
    'The body must be ["user", "password", seconds] or {"user": …, "password": …, "seconds": …}; seconds may be left out.',
  );
}
