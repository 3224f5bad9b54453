/**
 * `#runtime/class`: what class code uses, and what calls it when entities are read, saved and
 * deleted.
 */
export type { Session } from '../access/session.js';
export type {
  ComputedOrder,
  ComputedQuery,
  EventAnswer,
  FilterWithValues,
  FunctionResult,
  Restriction,
} from '../class/objects/types.js';
export { DataclassObject } from '../class/objects/dataclass.js';
export { decimal, type DecimalInput } from '../class/objects/decimal.js';
export { Datastore } from '../class/objects/datastore.js';
export { Entity } from '../class/objects/entity.js';
export type { ClassRegistry } from '../class/objects/registry.js';
export { SaveError } from '../class/objects/failure.js';
export { EntitySelection } from '../class/objects/selection.js';
export type {
  AliasedEntity,
  JsonObject,
  JsonValue,
  Media,
  RelatedEntity,
  Vector,
} from '../class/objects/types.js';
export type {
  AfterDropEvent,
  AfterSaveEvent,
  DropEvent,
  EventError,
  SaveEvent,
} from '../write/lifecycle.js';
export { classCode } from '../http/class-plugin.js';
export { notWritten } from '../class/objects/failure.js';
export { OutgoingMessage } from '../class/objects/outgoing-message.js';
export { Singleton } from '../class/objects/dataclass.js';
export { RestError } from '../protocol/errors.js';
