import type { EntitySet, ListedSet } from '../entity-set/entity-set-store.js';
import type { KeyList } from '../entity-set/key-list.js';

/** What the state has of an entity set. */
export type SetRow = readonly [
  id: string,
  dataclass: string,
  keys: number,
  owner: string | null,
  maker: string | null,
  timeout: number,
  isSorted: number,
  refreshed: number,
  expires: number,
];

export const setColumns =
  '"id", "dataclass", "keys", "owner", "maker", "timeout", "isSorted", "refreshed", "expires"';

/** A set as one process knows it: who may read it, and until when. */
export class KnownSet {
  /** Before it was read. */
  generation = NaN;
  read = -Infinity;

  constructor(
    readonly id: string,
    readonly dataclass: string,
    readonly keys: number,
    readonly owner: string | undefined,
    readonly maker: string | undefined,
    readonly timeout: number,
    readonly isSorted: boolean,
    public refreshed: number,
    public expires: number,
  ) {}

  static of(row: SetRow): KnownSet {
    const [id, dataclass, keys, owner, maker, timeout, isSorted, refreshed, expires] = row;
    return new KnownSet(
      id,
      dataclass,
      keys,
      owner ?? undefined,
      maker ?? undefined,
      timeout,
      isSorted === 1,
      refreshed,
      expires,
    );
  }

  with(keys: KeyList): EntitySet {
    const { id, dataclass, owner, maker, timeout, isSorted, refreshed, expires } = this;
    return { id, dataclass, keys, owner, maker, timeout, isSorted, refreshed, expires };
  }
}

/** @param row {@link setColumns}, then how many keys there are and what they take up in bytes */
export function listedSet(row: readonly unknown[]): ListedSet {
  const known = KnownSet.of(row as unknown as SetRow);
  const [length, byteLength] = row.slice(-2) as [number, number];
  return { ...known.with(undefined as never), keys: { length, byteLength } };
}
