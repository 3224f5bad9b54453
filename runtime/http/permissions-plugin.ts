import { fastifyPlugin } from 'fastify-plugin';
import { HeldBits } from '../access/bits.js';
import { EndedUsers } from '../access/ended-users.js';
import type { LoginModule } from '../access/login-module.js';
import type { RequestScopes } from '../access/request-scope.js';
import { FailedLogins, Logins } from '../permissions/logins.js';
import { DeclaredPrivileges } from '../permissions/privileges.js';
import { Tokens } from '../permissions/tokens.js';
import type { Clock } from '../entity-set/clock.js';
import type { ServedPermissions } from './open-sessions.js';
import { tokenSettings } from './settings.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Opening } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { RequestSessions } from './request-sessions.js';

interface PermissionsOptions {
  /** The user's `src/login.ts`; without it nobody can log in. */
  readonly login?: LoginModule;
  /** What the privileges of the model open. */
  readonly openings?: readonly Opening[];
}

/** Makes `app.permissions`: who may log in, and what sessions may see and do. */
export const permissions = fastifyPlugin<PermissionsOptions>(
  async (app, options) => {
    const { settings, environment, options: given, log } = app.setup;
    const login = given.login ?? options.login;
    const tokens = await Tokens.open(tokenSettings(environment), login, log);
    // The environment says where users are stored. Code that names a database, as tests do, may
    // have no users there.
    const users = given.databaseUrl === undefined && given.login === undefined ? login : undefined;
    await users?.openUsers?.();
    const endedUsers = users?.endedUsers;
    const { roles } = settings;
    const bits = new HeldBits(options.openings);
    const served: ServedPermissions = {
      privileges: roles === undefined ? undefined : new DeclaredPrivileges(roles),
      tokens,
      ended: endedUsers === undefined ? undefined : new EndedUsers({ endedUsers }),
      loginsOf: (clock, scopes) =>
        login === undefined ? undefined : openLogins(login, clock, scopes),
      requireLogin: roles?.forceLogin === true ? requireLogin : undefined,
      bits,
    };
    app.decorate('permissions', served);
  },
  { name: 'drs-permissions', dependencies: ['drs-database'] },
);

/** The user's `login` runs as the server itself, whatever session logs in. */
export function openLogins(
  { login }: LoginModule,
  clock: Clock,
  scopes: RequestScopes,
): Logins {
  const asServer: LoginModule['login'] = (user, password) =>
    scopes.asServerWithin(() => login(user, password));
  return new Logins({ login: asServer }, new FailedLogins(clock));
}

/** What a guest may read: the model, the guest's own session, whether the server lives. */
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
 * Refuses everything to guests except reading the catalog and logging in (`access.md#logging-in`),
 * whether the address exists or not.
 */
export function requireLogin(app: FastifyInstance, sessions: RequestSessions): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isOpen(request)) return;
    const { isGuest } = await sessions.of(request, reply);
    if (isGuest) throw loginRequired();
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
