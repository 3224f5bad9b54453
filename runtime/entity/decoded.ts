import type { ComputedDefinition, AttributeDefinition } from '../protocol/definition.js';
import type { ProtocolError } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import type { StoredValue } from '../protocol/values.js';

/** What a body says about an entity, and everything that is wrong with the body itself. */
export interface Decoded {
  /** By attribute name, in stored form; values with errors are left out. */
  readonly values: Map<string, StoredValue>;
  /**
   * Values for read-only attributes: if they differ from the stored ones, the entity is refused.
   */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
  /** Values for setters of class code, in the order of the body. */
  readonly computed: readonly ComputedValue[];
  readonly problems: readonly ProtocolError[];
  /** HTTP status of the problems; 0 without any. */
  readonly status: number;
}

/** A value for a setter of class code. */
export interface ComputedValue {
  readonly attribute: ComputedDefinition;
  readonly value: StoredValue;
  /** Why the session may not set it, if it differs from the result of the getter. */
  readonly denial: ProtocolError | undefined;
}

/**
 * The writer of an entity: a client names what is exposed and cannot change what is read-only;
 * class code writes every storage attribute and relation of the model.
 */
export type Writer = 'client' | 'code';

/** The writer of an entity, and what it may write. */
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
