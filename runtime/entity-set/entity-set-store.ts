import type { KeyList } from './key-list.js';

/** An entity set as a store holds it. */
export interface EntitySet {
  /** 32 upper-case hexadecimal digits. */
  readonly id: string;
  /** Name of the dataclass of its members. */
  readonly dataclass: string;
  /** The keys of its members in the set's order, including deleted entities. */
  readonly keys: KeyList;
  /** ID of the session that owns the set; `undefined` for a set of all guests. */
  readonly owner: string | undefined;
  /** ID of the session whose limit it counts for, which may be a guest's; the owner if left out. */
  readonly maker?: string | undefined;
  /** Seconds without an access after which the set expires; above 0. */
  readonly timeout: number;
  /** Whether the keys are in the order of an `$orderby`. */
  readonly isSorted: boolean;
  /**
   * JSON of the selection that a live dataclass's set was made of, a `SetDefinition`; `undefined` for
   * a set that was made of others, or by a function: its members are its selection.
   */
  readonly source?: string | undefined;
  /** Time of the last access, in milliseconds of the store's clock. */
  readonly refreshed: number;
  /** When the set expires unless it is accessed, in milliseconds of the store's clock. */
  readonly expires: number;
}

/** A set in a list of sets, without its keys. */
export interface ListedSet extends Omit<EntitySet, 'keys'> {
  readonly keys: Pick<KeyList, 'length' | 'byteLength'>;
}

/** What a caller decides about a new set, including its lifetime. */
export interface NewEntitySet extends Pick<
  EntitySet,
  'dataclass' | 'keys' | 'owner' | 'maker' | 'timeout' | 'isSorted' | 'source'
> {
  /** The most sets that its maker may have; the caller has counted them. */
  readonly mostOfMaker?: number | undefined;
}

/** Sets of another session, or of another dataclass, do not exist for the requester. */
export interface SetClaim {
  /** ID of the session; `undefined` for a guest. */
  readonly session: string | undefined;
  /** Name of the dataclass that the set must have; `undefined` if the request names none. */
  readonly dataclass: string | undefined;
  /** Earlier names of the dataclass: a set in the database may be older than the present one. */
  readonly formerNames?: readonly string[] | undefined;
}

/** Whether a request may use a set of a dataclass and an owner. */
export function isOpenTo(
  { session, dataclass, formerNames = [] }: SetClaim,
  of: string,
  owner: string | undefined,
): boolean {
  if (dataclass !== undefined && of !== dataclass && !formerNames.includes(of)) return false;
  return owner === undefined || owner === session;
}

/**
 * Keeps entity sets for their lifetime (protocol P9.8, P9.9). A set ends when its timeout ends,
 * when it is released, or when the store needs its memory.
 */
export interface EntitySetStore {
  /** @throws EntitySetTooLargeError if the set alone needs more than the store may hold */
  create(set: NewEntitySet): Promise<EntitySet>;
  /**
   * Stores a set under its former ID (protocol P9.10, P9.11). If the ID is in use again, because
   * two requests missed the set at once, the stored set stays, is accessed and returned.
   *
   * @param id 32 upper-case hexadecimal digits
   * @param storedAs the ID that it gets, unless `id` is in use; `id` when left out
   * @returns `undefined` if the ID is that of another session's or another dataclass's set
   * @throws EntitySetTooLargeError as {@link create}
   */
  recreate(id: string, set: NewEntitySet, storedAs?: string): Promise<EntitySet | undefined>;
  /** An open set that is alive. Its lifetime starts again, with `timeout` seconds (above 0) instead of its own. */
  access(id: string, claim: SetClaim, timeout?: number): Promise<EntitySet | undefined>;
  /** Removes a set; `false` if there was none that is alive and open to the claim. */
  release(id: string, claim: SetClaim): Promise<boolean>;
  /** How many sets of a session are alive. */
  countOf(session: string): Promise<number>;
  /** The sets of a session that are alive; listing is no access. */
  listOf(session: string): Promise<readonly ListedSet[]>;
  /** All sets that are alive, the most recently accessed one last; listing is no access. */
  list(): Promise<readonly ListedSet[]>;
  /** Memory of the sets in bytes. */
  usedBytes(): Promise<number>;
  /** Removes all sets and stops the clock. */
  close(): void;
}

/** A set needs more memory than all sets together may use. */
export class EntitySetTooLargeError extends Error {
  constructor(
    /** Bytes of the set. */
    readonly bytes: number,
    /** The limit of the store. */
    readonly maxBytes: number,
  ) {
    super(`an entity set of ${bytes} bytes does not fit into a store of ${maxBytes} bytes`);
  }
}

/** The requester of entity sets, and the requester's limits in addition to the server's. */
export interface SetRequester {
  /** ID of the session that owns new sets; `undefined` for a guest (protocol P9.9). */
  readonly owner: string | undefined;
  /** The owner of saved definitions: a user by name, in any session; `undefined` for a guest. */
  readonly keeper: string | undefined;
  /** The session's own limits in seconds, which replace the server's (`access.md#quotas`). */
  readonly defaultTimeout?: number | undefined;
  readonly maxTimeout?: number | undefined;
  /** Sets that are alive at once. */
  readonly maxSets?: number | undefined;
  /** ID of the session whose limit new sets count for. @throws RequestError 402 with 1823 if a guest gets none */
  counted(): string;
}
