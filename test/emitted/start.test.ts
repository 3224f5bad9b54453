import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { AppOptions } from '../../runtime/http/app-options.js';
import { largeModel } from '../bench/large-model.js';
import { importFrom } from '../support/compiled-server.js';
import { modelOf, writeServer } from '../support/server.js';

/** What a server of so many dataclasses does at its start. */
async function started(dataclasses: number): Promise<{ routes: string; statements: string[] }> {
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
  const routes = app.printRoutes({ commonPrefix: false });
  await app.close();
  return { routes, statements };
}

it('has no route and runs no statement for a dataclass that nobody asks for', async () => {
  const [few, many] = [await started(3), await started(60)];
  expect(many.routes).toBe(few.routes);
  expect(many.statements.length).toBe(few.statements.length);
});
