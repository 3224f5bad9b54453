import type { FastifyInstance, FastifyPluginCallback } from 'fastify';
import type { ClassRegistry } from '../../runtime/class/objects/registry.js';
import type { ServedDatabase } from '../../runtime/dialect/driver.js';
import { classCode } from '../../runtime/http/class-plugin.js';
import { createServer, type AppOptions } from '../../runtime/http/create-server.js';
import { media } from '../../runtime/http/media-plugin.js';
import { database } from '../../runtime/http/database-plugin.js';
import { datastore } from '../../runtime/http/datastore-plugin.js';
import { sessions } from '../../runtime/http/open-sessions.js';
import { permissions } from '../../runtime/http/permissions-plugin.js';
import { protocol } from '../../runtime/http/rest-plugin.js';
import type { Settings } from '../../runtime/http/settings.js';
import type { DataclassDefinition } from '../../runtime/protocol/definition.js';

/** The parts of a server that a test assembles. */
export interface SourceModel {
  readonly definitions: readonly DataclassDefinition[];
  readonly databases: readonly ServedDatabase[];
  readonly settings: Settings;
  readonly classes: ClassRegistry;
}

type LoadedJson = Promise<{ readonly default: object }>;

/**
 * A server with the sources of the runtime, assembled like `app.ts` with the compiled one. Its
 * classes are those of a test.
 * @param load imports a generated module of the model by name, or a JSON file
 * @param routed dataclasses that have routes
 */
export async function sourceServer(
  { definitions, databases, settings, classes }: SourceModel,
  options: AppOptions,
  load: (name: string) => Promise<object>,
  routed: readonly string[],
): Promise<FastifyInstance> {
  const app = createServer(settings, options);
  void app.register(database, { definitions, databases });
  const isLimited = !settings.isOpen || definitions.some(({ restrict }) => restrict === true);
  if (isLimited) void app.register(permissions);
  void app.register(sessions);
  void app.register(media);
  void app.register(classCode, { classes });
  void app.register(datastore);
  const routes = await Promise.all(
    routed.map(async (name) => {
      const module = (await load(`routes/${name}`)) as Readonly<Record<string, unknown>>;
      return module[`${name.toLowerCase()}Routes`] as FastifyPluginCallback;
    }),
  );
  void app.register((below, _options, done) => {
    void below.register(protocol, { openApi: () => load('openapi.json') as LoadedJson });
    for (const each of routes) void below.register(each);
    done();
  });
  await app.after();
  return app;
}
