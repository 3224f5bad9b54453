import { fastifyPlugin } from 'fastify-plugin';
import type { Calls } from '../access/call.js';
import type { LoginModule } from '../access/login-module.js';
import { memoryLoginFailures } from '../permissions/login-failures.js';
import { Logins } from '../permissions/logins.js';
import { DeclaredPrivileges } from '../permissions/privileges.js';
import { sharedLoginFailures } from '../permissions/shared-failures.js';
import { Tokens } from '../permissions/tokens.js';
import { Views } from '../permissions/views.js';
import { requireLogin } from './require-login.js';
import type { LoginStores, ServedPermissions } from './served-permissions.js';
import { tokenSettings } from './settings.js';
import { ViewedServices } from './viewed-services.js';

export interface PermissionsOptions {
  /** The user's `src/login.ts`; without it nobody can log in. */
  readonly login?: LoginModule;
}

/** Makes `app.permissions`: who may log in, and what sessions see of the model and may do. */
export const permissions = fastifyPlugin<PermissionsOptions>(
  async (app, options) => {
    const { settings, environment, options: given } = app.setup;
    const login = given.login ?? options.login;
    const tokens = await Tokens.open(tokenSettings(environment), login);
    // Users are kept where the environment says. Who names a database in code, as tests do, may have none there.
    if (given.databaseUrl === undefined && given.login === undefined) await login?.openUsers?.();
    const { roles } = settings;
    const served: ServedPermissions = {
      privileges: roles === undefined ? undefined : new DeclaredPrivileges(roles),
      tokens,
      loginsOf: (stores, calls) =>
        login === undefined ? undefined : openLogins(login, stores, calls),
      requireLogin: roles?.forceLogin === true ? requireLogin : undefined,
      viewed: ({ definitions, functions, sessionOf, makeContext, restricting }) =>
        new ViewedServices(new Views(definitions, functions), sessionOf, makeContext, restricting),
    };
    app.decorate('permissions', served);
  },
  { name: 'drs-permissions', dependencies: ['drs-database'] },
);

/** The user's `login` runs as the server itself, wherever the session is that logs in. */
export function openLogins(
  { login }: LoginModule,
  { clock, sharing }: LoginStores,
  calls: Calls,
): Logins {
  const failures =
    sharing === undefined ? memoryLoginFailures(clock) : sharedLoginFailures(sharing);
  const asServer: LoginModule['login'] = (user, password) =>
    calls.asServerWithin(() => login(user, password));
  return new Logins({ login: asServer }, failures);
}
