import type { FastifyServerOptions } from 'fastify';
import type { LoginModule } from '../access/login-module.js';
import type { ClassRegistry } from '../class/registry.js';
import type { ServedDatabase } from '../dialect/driver.js';
import type { StatementObserver } from '../dialect/observed-executor.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { Settings } from './settings.js';

/** What the generator knows about the model. */
export interface GeneratedModel {
  readonly definitions: readonly DataclassDefinition[];
  /** The databases that the server takes; the first is the default. */
  readonly databases: readonly ServedDatabase[];
  readonly settings: Settings;
  /** The user's `src/login.ts`; without it nobody can log in. */
  readonly login?: LoginModule;
  /** Only for a model with class code. */
  readonly classes?: ClassRegistry;
}

/** What whoever builds the service decides. */
export interface AppOptions {
  /** As in `DATABASE_URL`, which is taken when this is left out. */
  readonly databaseUrl?: string;
  /** Fastify's `logger`. When left out, warnings and errors go to stderr as JSON lines, from `LOG_LEVEL` (info) up. */
  readonly logger?: FastifyServerOptions['logger'];
  /** Called with each SQL statement and its values before it runs: for tracing. */
  readonly onStatement?: StatementObserver;
  /** In the place of the user's `src/login.ts`: for tests. */
  readonly login?: LoginModule;
  /** Where limits are looked up; `process.env` when left out. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}
