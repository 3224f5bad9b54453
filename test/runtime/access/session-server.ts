import { inspect } from 'node:util';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { RequestScopes } from '../../../runtime/access/request-scope.js';
import type { LoginModule, TokenSettings } from '../../../runtime/access/login-module.js';
import type { RequestSession } from '../../../runtime/access/request-session.js';
import type { SessionLimits } from '../../../runtime/access/sessions.js';
import { systemSession } from '../../../runtime/access/grants.js';
import { DeclaredPrivileges } from '../../../runtime/permissions/privileges.js';
import { Tokens } from '../../../runtime/permissions/tokens.js';
import { Origins } from '../../../runtime/http/cross-site.js';
import { errorHandler, errorReporter } from '../../../runtime/http/errors.js';
import { MemorySessionStore } from '../../../runtime/access/memory-session-store.js';
import { readServerQuotas, type ServerQuotas } from '../../../runtime/access/quotas.js';
import { guardSessions, openSessions } from '../../../runtime/http/open-sessions.js';
import { openLogins, requireLogin } from '../../../runtime/http/permissions-plugin.js';
import type { RequestSessions } from '../../../runtime/http/request-sessions.js';
import type { Settings } from '../../../runtime/http/settings.js';
import { FakeClock } from '../../support/fake-clock.js';

type Work = (session: RequestSession, reply: FastifyReply) => unknown;

export interface SessionServer {
  readonly app: FastifyInstance;
  readonly clock: FakeClock;
  readonly sessions: RequestSessions;
  /** The numbers of sessions that live. */
  readonly counts: () => MemorySessionStore['counts'];
  /** IDs of the sessions that ended. */
  readonly ended: string[];
  /** The code and the result of `POST /rest/work/<name>`. */
  readonly work: Record<string, Work>;
  /** The log. */
  readonly logged: string[];
}

interface Options {
  readonly limits?: Partial<SessionLimits>;
  readonly roles?: Settings['roles'];
  readonly quotas?: ServerQuotas;
  readonly tokens?: Partial<TokenSettings>;
  readonly login?: LoginModule['login'];
}

const roles = {
  forceLogin: false,
  privileges: [
    { name: 'view', includes: ['view'] },
    { name: 'edit', includes: ['edit', 'view'] },
  ],
  roles: [{ name: 'The Boss', privileges: ['edit', 'view'] }],
};

/** A server with only sessions, with a clock and code of the test. */
export async function sessionServer(options: Options = {}): Promise<SessionServer> {
  const app = fastify();
  app.decorate('setup', { origins: new Origins([]) } as unknown as FastifyInstance['setup']);
  const clock = new FakeClock();
  const logged: string[] = [];
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  const write = (what: unknown, message = ''): void => {
    logged.push(`${message} ${inspect(what)}`.trim());
  };
  const log = { error: write, warn: write, debug: write };
  app.setErrorHandler(errorHandler(errorReporter(log)));
  const users = ['mia', 'bob'];
  const stores = {
    clock,
    sessions: new MemorySessionStore(clock),
  };
  const declared = options.roles ?? roles;
  const quotas = readServerQuotas(JSON.stringify(options.quotas ?? {}), 'QUOTAS');
  const scopes = new RequestScopes({ session: systemSession(), held: -1, isServer: true });
  const login: LoginModule['login'] =
    options.login ??
    ((user, password) =>
      users.includes(user.toLowerCase()) && password === 'right'
        ? { userName: user.toLowerCase(), roles: ['the boss'] }
        : null);
  const sessions = openSessions({
    cookie: 'DRSID_staff',
    quotas,
    limits: {
      sessionIdleTimeout: 3600,
      maxSessions: 100,
      maxGuestSessions: 100,
      ...options.limits,
    },
    stores,
    privileges: new DeclaredPrivileges(declared),
    logins: openLogins({ login }, clock, scopes),
    tokens: await Tokens.open(
      { key: '', keysUrl: '', issuer: '', audience: '', ...options.tokens },
      {
        login: () => null,
        loginWithToken: ({ sub }) => (sub === 'mia' ? { userName: sub, roles: 'the boss' } : null),
      },
      log,
    ),
    scopes,
  });
  guardSessions(app, sessions, {
    stores,
    quotas,
    hasCode: true,
    requireLogin: declared.forceLogin ? requireLogin : undefined,
  });
  const ended: string[] = [];
  sessions.sessions.store.onEnd((id) => ended.push(id));
  const work: Record<string, Work> = {};
  app.post<{ Params: { name: string } }>('/rest/work/:name', async (request, reply) => {
    const session = await sessions.of(request, reply);
    const result = await work[request.params.name]?.(session, reply);
    return reply.send({ result: result ?? null });
  });
  app.addHook('onClose', async () => {
    await sessions.sessions.store.close();
  });
  await app.ready();
  return { app, clock, sessions, counts: () => stores.sessions.counts, ended, work, logged };
}
