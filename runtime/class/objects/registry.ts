import type { FunctionDefinition } from '../../protocol/definition.js';
import type { DataclassObject, DataclassState } from './dataclass.js';
import type { DatastoreState } from './datastore.js';
import type { Entity } from './entity.js';
import type { EntityState } from './entity-state.js';
import type { SelectionState } from './selection.js';
import type { EntityTypes } from './types.js';

/**
 * The classes of a server, as the generator lists them: the user's if there are some, else the
 * emitted base classes.
 */
export interface ClassRegistry {
  /** Extends `Datastore`, whose type argument is the server's own. */
  readonly datastore: new (state: DatastoreState) => object;
  /** Exposed functions of the datastore. */
  readonly datastoreFunctions: readonly FunctionDefinition[];
  /** By name, one for each dataclass of the model. */
  readonly dataclasses: Readonly<Record<string, DataclassClasses>>;
  readonly singletons: Readonly<Record<string, SingletonClass>>;
}

export interface DataclassClasses {
  readonly dataclass: new (state: DataclassState) => DataclassObject<EntityTypes>;
  readonly entity: new (state: EntityState) => Entity<EntityTypes>;
  /** The class of lazy selections; see `selection.ts`. */
  readonly selection: new (state: SelectionState) => object;
}

export interface SingletonClass {
  readonly singleton: new (...state: never) => object;
  readonly scope: 'process' | 'shared' | 'session';
  /** The exposed ones. */
  readonly functions: readonly FunctionDefinition[];
}
