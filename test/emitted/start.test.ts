import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { largeModel } from '../bench/large-model.js';
import { importFrom } from '../support/compiled-server.js';
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
