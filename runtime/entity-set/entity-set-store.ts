import type { Pending } from '../dialect/pending.js';
import type { KeyList } from './key-list.js';

/** An entity set as a store holds it. */
export interface EntitySet {
  /** 32 upper-case hexadecimal digits. */
  readonly id: string;
  /** Name of the dataclass of its members. */
  readonly dataclass: string;
  /** The keys of its members in the set's order, dropped entities among them. */
  readonly keys: KeyList;
  /** ID of the session that the set belongs to; `undefined`: a guest made it, and it is open to all. */
  readonly owner: string | undefined;
  /** ID of the session that it is counted for, which may be a guest's; the owner when left out. */
  readonly maker?: string | undefined;
  /** Seconds without an access after which the set is gone; above 0. */
  readonly timeout: number;
  /** The keys are in the order of an `$orderby`. */
  readonly isSorted: boolean;
  /** Time of the last access, in milliseconds of the store's clock. */
  readonly refreshed: number;
  /** From this time on the set is gone unless it is accessed before, in milliseconds of the store's clock. */
  readonly expires: number;
}

/** A set in a list of sets, which holds no keys. */
export interface ListedSet extends Omit<EntitySet, 'keys'> {
  readonly keys: Pick<KeyList, 'length' | 'byteLength'>;
}

/** What a caller says of a new set; default lifetime and caps are the caller's affair. */
export type NewEntitySet = Pick<
  EntitySet,
  'dataclass' | 'keys' | 'owner' | 'maker' | 'timeout' | 'isSorted'
>;

/** Who asks for a set, and as what. A set that is another session's, or another dataclass's, is as good as none. */
export interface SetClaim {
  /** ID of the session; `undefined` for a guest. */
  readonly session: string | undefined;
  /** Name of the dataclass of which the set must be; `undefined` when the request names none. */
  readonly dataclass: string | undefined;
}

/**
 * Keeps entity sets for their lifetime (protocol P9.8, P9.9). A set is gone when its timeout ends,
 * when it is released, or when the store needs its memory.
 *
 * A store in the same process answers at once, and saves a read of a set the cost of a promise; a
 * store elsewhere answers with promises. So a caller awaits promises and nothing else, as it does
 * with `PendingAnswer`.
 */
export interface EntitySetStore {
  /**
   * Stores a set under a new ID.
   *
   * @throws EntitySetTooLargeError when the set alone needs more than the store may hold
   */
  create(set: NewEntitySet): Pending<EntitySet>;
  /**
   * Stores a set under the ID that it had before it was gone (protocol P9.10, P9.11). If the ID is
   * in use again, because two requests missed the set at once, the stored set stays, is accessed
   * and returned.
   *
   * @param id 32 upper-case hexadecimal digits
   * @param storedAs the ID that it gets, unless `id` is in use; `id` when left out
   * @returns `undefined` if the ID is that of another session's or another dataclass's set
   * @throws EntitySetTooLargeError as {@link create}
   */
  recreate(id: string, set: NewEntitySet, storedAs?: string): Pending<EntitySet | undefined>;
  /**
   * A set that is alive and open to the claim. Its lifetime starts anew: with its own timeout, or with `timeout` seconds,
   * which become its own; above 0.
   */
  access(id: string, claim: SetClaim, timeout?: number): Pending<EntitySet | undefined>;
  /** Removes a set; `false` when there was none that is alive and open to the claim. */
  release(id: string, claim: SetClaim): Pending<boolean>;
  /** How many sets that a session made are alive. */
  countOf(session: string): Pending<number>;
  /** Those sets; asking is no access. */
  listOf(session: string): Pending<readonly ListedSet[]>;
  /** Removes the sets that belong to a session. */
  releaseOf(session: string): Pending<void>;
  /** Gives the sets that a session made to another one, which has made none. */
  moveOf(from: string, to: string): Pending<void>;
  /** All that is alive, the set that was accessed last at the end; asking is no access. */
  list(): Pending<readonly ListedSet[]>;
  /** What the sets take up in bytes. */
  usedBytes(): Pending<number>;
  /** Forgets all sets and stops the clock. */
  close(): Pending<void>;
}

/** A set needs more memory than all sets together may have. */
export class EntitySetTooLargeError extends Error {
  constructor(
    /** Of the set. */
    readonly bytes: number,
    /** Of the store. */
    readonly maxBytes: number,
  ) {
    super(`an entity set of ${bytes} bytes does not fit into a store of ${maxBytes} bytes`);
  }
}

/** Who asks for entity sets, and what is allowed beside the server's limits. */
export interface SetAsker {
  /**
   * ID of the session that owns new sets; `undefined` for a guest, whose sets are open to all
   * guests (protocol P9.9).
   */
  readonly owner: string | undefined;
  /** Whom the definitions that are kept belong to: a user by name, in whichever session; `undefined` for a guest. */
  readonly keeper: string | undefined;
  /** The session's own limits in seconds, which replace the server's (`access.md#quotas`). */
  readonly defaultTimeout?: number | undefined;
  readonly maxTimeout?: number | undefined;
  /** Sets that are alive at once. */
  readonly maxSets?: number | undefined;
  /**
   * ID of the session that sets are counted for; asked where they are limited.
   * @throws RequestError 402 with 1823 when a guest gets no session
   */
  counted(): string;
}
