/** `#runtime/http`: the plugins of a server, and its start. */
export type { AppOptions } from '../http/create-server.js';
export { createServer } from '../http/create-server.js';
// Declares `app.dataclass`.
export type { DataclassHandlers } from '../http/dataclass-handlers.js';
export { database } from '../http/database-plugin.js';
export { datastore } from '../http/datastore-plugin.js';
export { sessions } from '../http/open-sessions.js';
export { protocol } from '../http/rest-plugin.js';
export { allow, allowWrite } from '../http/route-checks.js';
export { migrate, serve } from '../http/serve.js';
// Declares `app.media`.
export type { ServedMedia } from '../http/served-media.js';
export type { Limits, Settings } from '../http/settings.js';
// The types that the emitted types of a datastore are based on.
export { DataclassObject } from '../class/objects/dataclass.js';
export { Datastore } from '../class/objects/datastore.js';
export { Entity } from '../class/objects/entity.js';
export { EntitySelection } from '../class/objects/selection.js';
export type {
  AliasedEntity,
  JsonObject,
  JsonValue,
  Media,
  RelatedEntity,
  Vector,
} from '../class/objects/types.js';
