import type { StoredValue } from '../protocol/values.js';
import type { Writer } from './decoded.js';
import type { LiveEntity } from './lifecycle.js';
import type { Refusal } from './refusals.js';

/** What became of an entity of a body. */
export type SaveResult = Saved | Refusal;

export interface Saved {
  /** As it is stored, but for the case of a text. */
  readonly key: string | number;
  readonly outcome: 'created' | 'changed' | 'unchanged';
  /** Of an entity that was only checked: what it would store. */
  readonly values?: ReadonlyMap<string, StoredValue>;
}

/** How an entity is saved. */
export interface SaveOptions {
  readonly timestamp: string;
  /** `false`: nothing of it will be kept, so a changed entity keeps its stamp, and no event runs. */
  readonly isKept: boolean;
  /** Nothing of it will be kept: of all events, `validateSave` alone runs. */
  readonly isValidation?: boolean;
  /** It is checked by reads alone, which the transaction stands for: nothing is stored, and nobody waits. */
  readonly isOnlyRead?: boolean;
  readonly writer: Writer;
  /** Names of attributes that may be written whatever the session may. */
  readonly granted?: ReadonlySet<string>;
  /** ID of the session whose locks are no obstacle. */
  readonly session?: string | undefined;
  /** The class code's object that is saved, which takes over what is stored; the body is what it has to send. */
  readonly live?: LiveEntity;
}
