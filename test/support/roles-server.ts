import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Model } from '../../generator/model/model.js';
import type { AppOptions } from '../../runtime/http/create-app.js';
import { Client } from './cookies.js';
import { modelOf, writeServer } from './server.js';

/** Anybody logs in, with the privileges and roles that stand in the password as JSON. */
const login = `
export async function login(user: string, password: string) {
  return { userName: user, ...JSON.parse(password) };
}
`;

interface GeneratedApp {
  readonly buildApp: (options: AppOptions) => Promise<FastifyInstance>;
}

/** Generates the server of a model with roles, and starts it on an empty database in memory. */
export async function rolesServerOf(
  yaml: string | Model,
  options: AppOptions = {},
): Promise<FastifyInstance> {
  const folder = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml);
  // A module of its own: the folder may serve other tests, whose users log in otherwise.
  const app = join(folder, 'src/generated/app.ts');
  const hash = createHash('sha256').update(login).digest('hex').slice(0, 8);
  const testApp = app.replace('app.ts', `app-${hash}.ts`);
  const testLogin = join(folder, `src/login-${hash}.ts`);
  if (!existsSync(testLogin)) writeFileSync(testLogin, login);
  if (!existsSync(testApp)) {
    const text = readFileSync(app, 'utf8');
    writeFileSync(testApp, text.replace("'../login.js'", `'../login-${hash}.js'`));
  }
  const { buildApp } = (await import(
    /* @vite-ignore */ pathToFileURL(testApp).href
  )) as GeneratedApp;
  return buildApp({
    databaseUrl: 'sqlite::memory:',
    logger: false,
    environment: {},
    ...options,
  });
}

/** What a session is granted. */
export interface Granted {
  readonly privileges?: readonly string[];
  readonly roles?: readonly string[];
}

/** A client that is logged in. */
export async function loggedIn(app: FastifyInstance, granted: Granted): Promise<Client> {
  const client = new Client(app);
  const response = await client.post('/rest/$directory/login', [
    'mia',
    JSON.stringify(granted),
    3600,
  ]);
  if (response.statusCode !== 200) throw new Error(response.body);
  return client;
}
