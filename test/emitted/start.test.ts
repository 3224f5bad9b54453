import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { largeModel } from '../bench/large-model.js';
import { compiledServer, importFrom } from '../support/compiled-server.js';
import { modelOf, writeServer } from '../support/server.js';

/**
 * The statements that a server with this many dataclasses runs up to the first request to one of
 * them.
 */
async function statementsOf(dataclasses: number): Promise<string[]> {
  const folder = writeServer(modelOf(largeModel(dataclasses)));
  const { buildApp } = (await importFrom(folder, 'src/generated/app')) as {
    readonly buildApp: (options: AppOptions) => Promise<FastifyInstance>;
  };
  const statements: string[] = [];
  const app = await buildApp({
    databaseUrl: 'sqlite::memory:',
    logger: false,
    environment: {},
    onStatement: (text) => statements.push(text),
  });
  await app.ready();
  expect((await app.inject(`/rest/Thing${dataclasses - 1}`)).statusCode).toBe(200);
  await app.close();
  return statements;
}

it('A start runs no statement for a dataclass that nobody requests', async () => {
  const [few, many] = [await statementsOf(3), await statementsOf(60)];
  expect(many.length).toBe(few.length);
});

/** The files of the runtime that `migrate.js` loads for a database. */
function loadedFor(program: string, file: string): readonly string[] {
  const coverage = mkdtempSync(join(program, 'coverage-'));
  const { status, stderr } = spawnSync(process.execPath, [join(program, 'dist/src/migrate.js')], {
    env: { DATABASE_URL: `sqlite:${file}`, NODE_V8_COVERAGE: coverage },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const written = readdirSync(coverage).map((each) => readFileSync(join(coverage, each), 'utf8'));
  return [...written.join('').matchAll(/\/([\w-]+)\.js"/g)].map(([, name = '']) => name);
}

it('A start loads what changes schemas only for a database that is not as the model wants it', () => {
  const program = compiledServer(writeServer(modelOf(largeModel(3))));
  const file = join(mkdtempSync(join(program, 'data-')), 'data.sqlite');
  expect(loadedFor(program, file)).toContain('sqlite');
  expect(loadedFor(program, file)).not.toContain('sqlite-migration');
  const database = new Database(file);
  database.exec('DROP INDEX "__Thing1.ownerID"');
  database.close();
  expect(loadedFor(program, file)).toContain('sqlite-migration');
  expect(loadedFor(program, file)).not.toContain('sqlite-migration');
});

it.each([
  [
    'was installed for another version of Node',
    "The module 'better_sqlite3.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 127.",
  ],
  ['has no binary', 'Could not locate the bindings file. Tried:\n → /build/better_sqlite3.node'],
])('A command of a server whose SQLite driver %s prints what to run', (words, message) => {
  const program = compiledServer(writeServer(modelOf(largeModel(3))));
  // Only the loading of the binary fails.
  const failing = `process.dlopen = () => { throw new Error(${JSON.stringify(message)}); };`;
  const url = `data:text/javascript,${encodeURIComponent(failing)}`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', url, join(program, 'dist/src/migrate.js')],
    { env: { DATABASE_URL: 'sqlite::memory:' }, encoding: 'utf8' },
  );
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `better-sqlite3 ${words}, and this server runs on Node ${process.version}. Run: npm rebuild better-sqlite3\n`,
  });
});
