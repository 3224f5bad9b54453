/** `#runtime/http`: the server as a Fastify instance, and its start. */
export type { AppOptions, GeneratedModel } from '../http/app-options.js';
export { createApp } from '../http/create-app.js';
// These declare `app.dataclass` and `app.functions`.
export type { DataclassRoutes } from '../http/dataclass-handlers.js';
export type { FunctionService } from '../http/function-service.js';
export { serve } from '../http/serve.js';
export type { Limits, Settings } from '../http/settings.js';
