import type { EntitySet, ListedSet } from '../entity-set/entity-set-store.js';
import type { KeyList } from '../entity-set/key-list.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/** The columns of an entity set in the state. */
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

/** @param row {@link setColumns}, then the number of keys and their size in bytes */
export function listedSet(row: readonly unknown[]): ListedSet {
  const known = KnownSet.of(row as unknown as SetRow);
  const [length, byteLength] = row.slice(-2) as [number, number];
  return { ...known.with(undefined as never), keys: { length, byteLength } };
}

/** The statements of the store of entity sets. */
export class SetStatements {
  readonly find: StateStatement;
  readonly add: StateStatement;
  readonly use: StateStatement;
  readonly setTimeout: StateStatement;
  readonly remove: StateStatement;
  readonly expired: StateStatement;
  readonly leastUsed: StateStatement;
  readonly countOf: StateStatement;
  readonly madeBy: StateStatement;
  readonly ownedBy: StateStatement;
  readonly moveMade: StateStatement;
  readonly moveOwned: StateStatement;
  readonly listOf: StateStatement;
  readonly list: StateStatement;
  readonly bytes: StateStatement;
  readonly countUse: StateStatement;

  /** @param bytesOfSet memory of a set in addition to its keys */
  constructor(state: StateDatabase, bytesOfSet: number) {
    const uses = `(select "value" from "total" where "name" = 'use')`;
    const listed = `select ${setColumns
      .split(', ')
      .map((column) => `"entityset".${column}`)
      .join(', ')}, "keys"."length", "keys"."bytes" from "entityset"
      join "keys" on "keys"."id" = "entityset"."keys"`;
    this.find = state.prepare(`select ${setColumns} from "entityset" where "id" = ?`);
    this.add = state.prepare(`insert into "entityset" values (?, ?, ?, ?, ?, ?, ?, ?, ?, ${uses})`);
    this.use = state.prepare(
      `update "entityset" set "refreshed" = ?, "expires" = ?, "used" = ${uses} where "id" = ?`,
    );
    this.setTimeout = state.prepare('update "entityset" set "timeout" = ? where "id" = ?');
    this.remove = state.prepare('delete from "entityset" where "id" = ?');
    this.expired = state.prepare('select "id" from "entityset" where "expires" <= ?');
    // Sets of guests are removed before those of users, because anybody can make many of them.
    this.leastUsed = state.prepare(
      'select "id" from "entityset" order by "owner" is not null, "used" limit 1',
    );
    this.countOf = state.prepare(
      'select count(*) from "entityset" where "maker" = ? and "expires" > ?',
    );
    this.madeBy = state.prepare('select "id" from "entityset" where "maker" = ?');
    this.ownedBy = state.prepare(
      'select "id" from "entityset" where "maker" = ?1 and "owner" = ?1',
    );
    this.moveOwned = state.prepare('update "entityset" set "owner" = ?2 where "owner" = ?1');
    this.moveMade = state.prepare('update "entityset" set "maker" = ?2 where "maker" = ?1');
    this.listOf = state.prepare(`${listed} where "maker" = ? and "expires" > ? order by "used"`);
    this.list = state.prepare(`${listed} where "expires" > ? order by "used"`);
    this.bytes = state.prepare(
      `select (select "value" from "total" where "name" = 'sets') * ${bytesOfSet}
       + (select "value" from "total" where "name" = 'keys')`,
    );
    this.countUse = state.prepare(`update "total" set "value" = "value" + 1 where "name" = 'use'`);
  }
}
