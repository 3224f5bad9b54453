import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Writer } from './decoded.js';
import type { LiveEntity } from './lifecycle.js';

/** How entities are deleted. */
export interface DeleteOptions {
  /** Of the entities that are changed, since they refer to deleted ones. */
  readonly timestamp: string;
  readonly writer: Writer;
  /** ID of the session whose locks are no obstacle. */
  readonly session?: string | undefined;
  /** The class code's object that is deleted: its stamp must be that of the entity, and its events are run on it. */
  readonly live?: LiveEntity;
  /** Told of the session's own locks of deleted entities, which end when the deletion is stored. */
  readonly onUnlocked?: (dataclass: Dataclass, key: string | number) => void;
}
