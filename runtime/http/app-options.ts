import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import type { LoginModule } from '../access/login-module.js';
import type { StatementObserver } from '../dialect/observed-executor.js';

/** What whoever builds the service decides. */
export interface AppOptions {
  /** As in `DATABASE_URL`, which is taken when this is left out. */
  readonly databaseUrl?: string;
  /** Fastify's `logger`. When left out, warnings and errors go to stderr as JSON lines, from `LOG_LEVEL` (info) up. */
  readonly logger?: FastifyServerOptions['logger'];
  /** Called with each SQL statement and its values before it runs: for tracing. */
  readonly onStatement?: StatementObserver;
  /** In the place of the user's `src/login.ts`: for tests. A model without roles takes none. */
  readonly login?: LoginModule;
  /** Where limits are looked up; `process.env` when left out. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Called before the routes below `/rest` are there: for plugins that look at each route which is registered after them, as those
   * for rate limits or API descriptions do. Hooks may be added later as well.
   */
  readonly extend?: (app: FastifyInstance) => void;
}
