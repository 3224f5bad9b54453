import type { ComputedDefinition, AttributeDefinition } from '../protocol/definition.js';
import type { ProtocolError } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import type { StoredValue } from '../protocol/values.js';

/** What a body says of an entity, and everything that is wrong with it by itself. */
export interface Decoded {
  /** By attribute name, in stored form; those that something is wrong with are left out. */
  readonly values: Map<string, StoredValue>;
  /** What the body says of attributes that are read-only: what is stored, or the entity is refused. */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
  /** What the body says of attributes that setters of class code take, in the order of the body. */
  readonly computed: readonly ComputedValue[];
  readonly problems: readonly ProtocolError[];
  /** HTTP status of the problems; 0 without any. */
  readonly status: number;
}

/** A value for a setter of class code. */
export interface ComputedValue {
  readonly attribute: ComputedDefinition;
  readonly value: StoredValue;
  /** Why the session may not give it, where it differs from what a getter gives. */
  readonly denial: ProtocolError | undefined;
}

/**
 * Who writes an entity: a client names what is exposed and cannot change what is read-only; class code writes every storage
 * attribute and relation of the model.
 */
export type Writer = 'client' | 'code';

/** Who writes an entity, and what of it. */
export interface Author {
  readonly writer: Writer;
  /** Names of attributes that may be written whatever the session may. */
  readonly granted?: ReadonlySet<string>;
}

/** A body's entity. */
export type Body = Readonly<Record<string, unknown>>;

/** An entity that is changed, and how texts are compared. */
export interface Existing {
  readonly key: string | number;
  readonly fold: Fold;
}

/** Whether class code has a setter for an attribute that it computes. */
export function isSettable(attribute: AttributeDefinition): attribute is ComputedDefinition {
  return attribute.kind === 'computed' && attribute.accessors.includes('set');
}
