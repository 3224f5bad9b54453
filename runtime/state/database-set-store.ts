import {
  type EntitySet,
  type EntitySetStore,
  EntitySetTooLargeError,
  type ListedSet,
  type NewEntitySet,
  isOpenTo,
  type SetClaim,
} from '../entity-set/entity-set-store.js';
import { type KeyList, keysFrom, storedKeys } from '../entity-set/key-list.js';
import { bytesOf, bytesOfSet } from '../entity-set/memory-store.js';
import { ConstraintError, type Rows } from '../dialect/executor.js';
import type { StateDatabase, StateStatement } from '../dialect/state-database.js';
import { newUuid } from '../protocol/uuid.js';
import { sessionEnded } from './database-lock-table.js';
import { expiryAfter, grainOf } from './database-session-store.js';

const isId = /^[0-9A-F]{32}$/;

/** The columns of a set. */
type SetRow = readonly [
  id: string,
  dataclass: string,
  owner: string | null,
  maker: string | null,
  timeout: number,
  isSorted: number,
  refreshed: number,
  expires: number,
  length: number,
  bytes: number,
  source: string | null,
];
/** A set with what is needed to read its keys. */
type FoundRow = readonly [...SetRow, now: number, format: string, keys: string];

/** The part of the memory for all sets that a server uses before it checks again whether there is room. */
const unchecked = 1 / 1000;

/**
 * Entity sets of all servers, which take `mostBytes` together, as those of one process do; sets that
 * servers make at the same moment may exceed it by a thousandth for each server. The keys of a set
 * never change, so a process caches those that it used last.
 */
export class DatabaseEntitySetStore implements EntitySetStore {
  readonly #sql: SetSql;
  readonly #keys: KeyCache;
  /** Bytes of sets that were made since this server looked for room. */
  #made = Infinity;

  /**
   * @param mostCached bytes of the keys that this process caches
   * @param stored makes sure that sets can refer to a session
   */
  constructor(
    private readonly state: StateDatabase,
    private readonly mostBytes: number,
    mostCached: number,
    private readonly stored: (session: string) => Promise<void>,
  ) {
    this.#sql = setSql(state);
    this.#keys = new KeyCache(mostCached);
  }

  async create(set: NewEntitySet): Promise<EntitySet> {
    const id = newUuid();
    const made = await this.#store(id, set);
    if (made === undefined) throw new Error(`The entity set ${id} exists already.`);
    return made;
  }

  async recreate(id: string, set: NewEntitySet, storedAs = id): Promise<EntitySet | undefined> {
    const claim = { session: set.owner, dataclass: set.dataclass };
    const [used] = await this.state.run([this.#sql.used, id, storedAs]);
    if (used !== undefined) return this.access(String(used[0]), claim);
    // Another request may have been faster.
    return (await this.#store(storedAs, set)) ?? this.access(storedAs, claim);
  }

  async access(id: string, claim: SetClaim, timeout?: number): Promise<EntitySet | undefined> {
    // A client may have sent anything.
    if (!isId.test(id)) return undefined;
    const [found] = await this.state.run([this.#sql.find, id]);
    const row = found as FoundRow | undefined;
    if (row === undefined || !isOpenTo(claim, row[1], row[2] ?? undefined)) return undefined;
    const times = await this.#used(row, timeout);
    const keys = await this.#keysOf(row);
    // Another server may have removed it just now.
    return keys === undefined ? undefined : { ...setOf(row), ...times, keys };
  }

  async release(id: string, { session, dataclass, formerNames = [] }: SetClaim): Promise<boolean> {
    if (!isId.test(id)) return false;
    for (const name of [dataclass, ...formerNames]) {
      const release: StateStatement = [this.#sql.release, id, session ?? '', name ?? null];
      if ((await this.state.run(release)).length > 0) return true;
    }
    return false;
  }

  async countOf(session: string): Promise<number> {
    const [row] = await this.state.run([this.#sql.countOf, session]);
    return Number(row?.[0]);
  }

  async listOf(session: string): Promise<readonly ListedSet[]> {
    return listed(await this.state.run([this.#sql.listOf, session]));
  }

  async list(): Promise<readonly ListedSet[]> {
    return listed(await this.state.run([this.#sql.list]));
  }

  async usedBytes(): Promise<number> {
    const [row] = await this.state.run([this.#sql.bytes]);
    return Number(row?.[0]);
  }

  async tick(): Promise<void> {
    await this.state.run([this.#sql.endExpired]);
  }

  /** The sets continue in the other servers. */
  close(): void {
    this.#keys.clear();
  }

  /** @returns `undefined` if there is a living set with the ID */
  async #store(id: string, set: NewEntitySet): Promise<EntitySet | undefined> {
    const { dataclass, keys, owner, maker = owner, timeout, isSorted, source } = set;
    const bytes = bytesOf(set);
    if (bytes > this.mostBytes) throw new EntitySetTooLargeError(bytes, this.mostBytes);
    this.#made += bytes;
    const makesRoom = this.#made >= this.mostBytes * unchecked;
    if (makesRoom) this.#made = 0;
    const { format, content, length } = storedKeys(keys);
    const name = newUuid();
    const sql = this.#sql;
    const statements: StateStatement[] = [
      [sql.replaced, id],
      ...(makesRoom ? [[sql.makeRoom, this.mostBytes - bytes] satisfies StateStatement] : []),
      [
        sql.add,
        id,
        dataclass,
        owner ?? null,
        maker ?? null,
        timeout,
        Number(isSorted),
        format,
        length,
        bytes,
      ],
      [sql.addKeys, id, name, content],
      ...(source === undefined ? [] : [[sql.addSource, id, source] satisfies StateStatement]),
      [sql.added, id, name],
    ];
    if (owner !== undefined) await this.stored(owner);
    if (maker !== undefined) await this.stored(maker);
    let row: Rows[number] | undefined;
    try {
      [row] = await this.state.run(...statements);
    } catch (error) {
      throw error instanceof ConstraintError && error.kind === 'foreignKey'
        ? sessionEnded()
        : error;
    }
    if (row === undefined) return undefined;
    this.#keys.set(name, keys);
    return { ...setOf(row as unknown as SetRow), keys };
  }

  /** Not every use is written: instead, the set lives longer by the time between two writes. */
  async #used(row: FoundRow, timeout?: number): Promise<Partial<EntitySet>> {
    const [id, , , , before, , refreshed, , , , , now] = row;
    if (timeout === undefined && now - refreshed < grainOf(before)) return {};
    const use: StateStatement = [this.#sql.use, id, timeout ?? null];
    const [times] = await this.state.run(use, [this.#sql.times, id]);
    if (times === undefined) return {};
    const [seconds, used, expires] = times as readonly [number, number, number];
    return { timeout: seconds, refreshed: used, expires };
  }

  async #keysOf(row: FoundRow): Promise<KeyList | undefined> {
    const [id, , , , , , , , length, , , , format, name] = row;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const [stored] = await this.state.run([this.#sql.keys, id, name]);
    if (stored === undefined) return undefined;
    const keys = keysFrom({ format, content: stored[0] as Uint8Array, length });
    this.#keys.set(name, keys);
    return keys;
  }
}

/** Lists of keys by their names, which no other list ever has. */
class KeyCache {
  /** The most recently used one is last. */
  readonly #lists = new Map<string, KeyList>();
  #bytes = 0;

  constructor(private readonly most: number) {}

  get(name: string): KeyList | undefined {
    const keys = this.#lists.get(name);
    if (keys === undefined) return undefined;
    this.#lists.delete(name);
    this.#lists.set(name, keys);
    return keys;
  }

  set(name: string, keys: KeyList): void {
    // Two requests may have read it at once.
    if (this.#lists.has(name)) return;
    this.#lists.set(name, keys);
    this.#bytes += keys.byteLength;
    for (const [oldest, { byteLength }] of this.#lists) {
      if (this.#bytes <= this.most || oldest === name) return;
      this.#lists.delete(oldest);
      this.#bytes -= byteLength;
    }
  }

  clear(): void {
    this.#lists.clear();
    this.#bytes = 0;
  }
}

function setOf(row: SetRow | FoundRow): Omit<EntitySet, 'keys'> {
  const [id, dataclass, owner, maker, timeout, isSorted, refreshed, expires, , , source] = row;
  return {
    id,
    dataclass,
    owner: owner ?? undefined,
    maker: maker ?? undefined,
    timeout,
    isSorted: isSorted === 1,
    refreshed,
    expires,
    source: source ?? undefined,
  };
}

function listed(rows: Rows): readonly ListedSet[] {
  return (rows as unknown as readonly SetRow[]).map((row) => ({
    ...setOf(row),
    keys: { length: row[8], byteLength: row[9] - bytesOfSet },
  }));
}

interface SetSql {
  readonly add: string;
  readonly addKeys: string;
  readonly addSource: string;
  readonly added: string;
  readonly bytes: string;
  readonly countOf: string;
  readonly endExpired: string;
  readonly find: string;
  readonly keys: string;
  readonly list: string;
  readonly listOf: string;
  readonly makeRoom: string;
  readonly release: string;
  readonly replaced: string;
  readonly times: string;
  readonly use: string;
  readonly used: string;
}

function setSql({ now, skipLocked }: StateDatabase): SetSql {
  const columns =
    'e.id, e.dataclass, e.owner, e.maker, e.timeout, e.is_sorted, e.refreshed, e.expires, e.length, e.bytes, (select s.source from drs_state.entityset_source s where s.entityset = e.id)';
  const living = `from drs_state.entityset e where e.expires > ${now}`;
  const timeout = 'coalesce(cast($2 as double precision), timeout)';
  return {
    find: `select ${columns}, ${now}, e.format, k.keys from drs_state.entityset e
      join drs_state.entityset_keys k on k.entityset = e.id where e.id = $1 and e.expires > ${now}`,
    keys: 'select content from drs_state.entityset_keys where entityset = $1 and keys = $2',
    used: `select id from drs_state.entityset where (id = $1 or id = $2) and expires > ${now}
      order by case when id = $1 then 0 else 1 end limit 1`,
    use: `update drs_state.entityset set timeout = ${timeout}, refreshed = ${now}, expires = ${expiryAfter(now, timeout)} where id = $1`,
    times: 'select timeout, refreshed, expires from drs_state.entityset where id = $1',
    replaced: `delete from drs_state.entityset where id = $1 and expires <= ${now}`,
    // What was used last stays, sets of users before those of guests: anybody can make many of them.
    makeRoom: `delete from drs_state.entityset where id in (
      select id from drs_state.entityset where expires <= ${now} or id in (
        select id from (
          select e.id, sum(e.bytes) over (order by case when e.owner is null then 1 else 0 end, e.refreshed desc, e.id) as kept
          ${living}) as ordered where kept > cast($1 as bigint))
      order by id${skipLocked})`,
    add: `insert into drs_state.entityset (id, dataclass, owner, maker, timeout, is_sorted, refreshed, expires, format, length, bytes)
      values ($1, $2, $3, $4, $5, $6, ${now}, ${expiryAfter(now, 'cast($5 as double precision)')}, $7, $8, $9)
      on conflict (id) do nothing`,
    addKeys: `insert into drs_state.entityset_keys (entityset, keys, content) values ($1, $2, $3)
      on conflict (entityset) do nothing`,
    addSource: `insert into drs_state.entityset_source (entityset, source) values ($1, $2)
      on conflict (entityset) do nothing`,
    added: `select ${columns} from drs_state.entityset e join drs_state.entityset_keys k on k.entityset = e.id
      where e.id = $1 and k.keys = $2`,
    release: `delete from drs_state.entityset where id = $1 and expires > ${now} and (owner is null or owner = $2)
      and (cast($3 as text) is null or dataclass = $3) returning id`,
    countOf: `select count(*) ${living} and e.maker = $1`,
    listOf: `select ${columns} ${living} and e.maker = $1 order by e.refreshed, e.id`,
    list: `select ${columns} ${living} order by e.refreshed, e.id`,
    bytes: `select coalesce(sum(e.bytes), 0) ${living}`,
    endExpired: `delete from drs_state.entityset where id in (select id from drs_state.entityset
      where expires <= ${now} limit 1000${skipLocked})`,
  };
}
