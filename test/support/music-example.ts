import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { LoginModule } from '../../runtime/access/login-module.js';
import { compiledServer } from './compiled-server.js';
import { exampleFiles } from './example-files.js';
import { type EndedCommand, runHere } from './processes/run-here.js';
import { modelOf, packageRoot, serverOf, writeServer } from './server.js';

export const musicFolder = join(packageRoot, 'examples/music');
export const musicModel = modelOf(readFileSync(join(musicFolder, 'model.yaml'), 'utf8'));
export const musicCode = exampleFiles('music');

/** The users of the example, each with the arguments that grant a role. */
export const musicUsers = JSON.parse(
  readFileSync(join(musicFolder, 'users.json'), 'utf8'),
) as Readonly<Record<string, readonly [string, string]>>;

/** Writes the files of the example's data. */
export function writeMusic(folder: string): void {
  execFileSync(process.execPath, [join(musicFolder, 'seed/write.mjs'), folder]);
}

/** Runs a program of the server of the example on a SQLite database. */
export function runMusic(
  database: string,
  path: string,
  ...args: readonly string[]
): Promise<EndedCommand> {
  const folder = compiledServer(writeServer(musicModel, musicCode));
  const environment = { DATABASE_URL: `sqlite:${database}` };
  return runHere(join(folder, 'dist/src', path), args, { cwd: folder, environment });
}

/** Fills a database with the files that `writeMusic` has written. */
export function seedMusic(database: string, data: string): Promise<EndedCommand> {
  return runMusic(database, 'generated/seed.js', data, join(musicFolder, 'seed'));
}

/** A server of the example, whose users need no right password. */
export function musicServer(
  database: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<FastifyInstance> {
  const login: LoginModule['login'] = (user) => {
    const granted = musicUsers[user];
    return granted === undefined ? null : { userName: user, roles: [granted[1]] };
  };
  const options = { login: { login }, databaseUrl: `sqlite:${database}`, environment };
  return serverOf(musicModel, options, musicCode);
}
