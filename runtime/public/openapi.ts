/** `#runtime/openapi`: describes the server of a model; `drs-gen openapi` runs it, too. */
export { openApiDocument } from '../openapi/document.js';
export type * from '../openapi/described-model.js';
