import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type * as staff from '../../examples/web/client/client.js';
import type { LoginModule } from '../../runtime/access/login-module.js';
import type { Model } from '../../generator/model/model.js';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { writeClient } from './built-client.js';
import { exampleFiles } from './example-files.js';
import { modelOf, packageRoot, serverOf } from './server.js';

const example = join(packageRoot, 'examples/staff');

/** The users of the example, and a token that stands for one of them. */
const login: LoginModule = {
  login: (user, password) => {
    const granted = { mia: { roles: ['HR'] }, tom: { privileges: ['viewStaff'] } }[user];
    if (granted === undefined || password !== 'example') return null;
    return { userName: user, ...granted };
  },
  loginWithToken: ({ sub }) => ({ userName: String(sub), roles: ['HR'] }),
};

export const staffModel = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));

/** Starts the server of the example, without entities, on a port of its own. */
export async function staffServer(
  options: AppOptions = {},
  { driver = 'sqlite' }: { readonly driver?: Model['databases'][number] } = {},
): Promise<{ readonly app: FastifyInstance; readonly url: string }> {
  const app = await serverOf(
    { ...staffModel, databases: [driver] },
    { login, ...options },
    exampleFiles('staff'),
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}` };
}

/** The module of a client, with the types that the repository holds. */
export type StaffClient = typeof staff;

/** Imports the client of the example as a program would. */
export async function staffClient(role?: string): Promise<StaffClient> {
  const folder = await writeClient(staffModel, role);
  return (await import(pathToFileURL(join(folder, 'client.js')).href)) as StaffClient;
}
