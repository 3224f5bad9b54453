import type { FastifyInstance } from 'fastify';
import type { Model } from '../../generator/model/model.js';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { Client } from './cookies.js';
import { serverOf } from './server.js';

/** Every login succeeds, with the privileges and roles that the password contains as JSON. */
const login = `
export async function login(user: string, password: string) {
  return { userName: user, ...JSON.parse(password) };
}
`;

/**
 * Generates the server of a model with roles, and starts it on an empty database in memory.
 * @param classes files of the user, by path
 */
export function rolesServerOf(
  yaml: string | Model,
  options: AppOptions = {},
  classes: Readonly<Record<string, string>> = {},
): Promise<FastifyInstance> {
  return serverOf(yaml, options, { ...classes, 'src/login.ts': login });
}

/** The grants of a session. */
export interface Granted {
  readonly privileges?: readonly string[];
  readonly roles?: readonly string[];
}

/** A client that is logged in. */
export async function loggedIn(app: FastifyInstance, granted: Granted): Promise<Client> {
  const client = new Client(app);
  const credentials = ['mia', JSON.stringify(granted), 3600];
  const response = await client.post('/rest/$directory/login', credentials);
  if (response.statusCode !== 200) throw new Error(response.body);
  return client;
}
