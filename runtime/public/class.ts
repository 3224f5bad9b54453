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
} from '../class/types.js';
export { DataclassObject } from '../class/dataclass.js';
export { decimal, type DecimalInput } from '../class/decimal.js';
export { Datastore } from '../class/datastore.js';
export { Entity } from '../class/entity.js';
export type { ClassRegistry } from '../class/registry.js';
export { SaveError } from '../class/failure.js';
export { EntitySelection } from '../class/selection.js';
export type {
  AliasedEntity,
  JsonObject,
  JsonValue,
  Media,
  RelatedEntity,
  Vector,
} from '../class/types.js';
export type {
  AfterDropEvent,
  AfterSaveEvent,
  DropEvent,
  EventError,
  SaveEvent,
} from '../entity/lifecycle.js';
export { classCode } from '../http/class-plugin.js';
export { notWritten } from '../class/failure.js';
export { OutgoingMessage } from '../class/outgoing-message.js';
export { Singleton } from '../class/dataclass.js';
export { RestError } from '../protocol/errors.js';
