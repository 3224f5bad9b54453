import { hash as digestOf, randomInt } from 'node:crypto';
import { isGuest, isSystemId, noPrivileges } from '../access/grants.js';
import { network, type QuotaValues } from '../access/quotas.js';
import type { PrivilegeSet } from '../access/session.js';
import {
  addressFull,
  type NewSession,
  type SessionChange,
  type SessionRecord,
  type SessionRoom,
  sessionsFull,
  type SessionStore,
} from '../access/session-store.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Rows } from '../dialect/executor.js';
import type { StateDatabase, StateStatement } from '../dialect/state-database.js';
import { newUuid } from '../protocol/uuid.js';
import { StoredValues } from './stored-values.js';

/** Bytes of the sessions that a process caches, about 2 kB each and what they store. */
const mostKnownBytes = 32 * 1024 * 1024;
/**
 * The most by which a version rises. The number is random: if the database loses data, as a standby
 * may that takes over, a lost version is not used again for other data.
 */
const mostRaised = 2 ** 20;
/** Expired sessions that one statement removes. */
const batch = 1000;

/**
 * Sessions in the database, for all servers that use it. A process caches them, and trusts a cached one
 * for a while. After that, a request reads the version of its session, and the whole session again if the
 * version has changed.
 *
 * Code changes the cached session, for all requests of this process at once; `flush` stores the
 * changes as one transaction. If two servers change a session at the same moment, each stores what
 * it has changed: the last one wins for each value.
 */
export class DatabaseSessionStore implements SessionStore {
  readonly isShared = true;
  readonly #sql: SessionSql;
  /** Cached sessions by the hashes of their tokens. */
  readonly #known = new BoundedCache<DatabaseSession>(
    mostKnownBytes,
    ({ storage }) => 2048 + 2 * storage.length,
  );
  /** Sets of privileges by their texts: caches use the set itself as the key. */
  readonly #privileges = new BoundedCache<PrivilegeSet>(1024 * 1024, ({ size }) => 64 * size);
  /** Sessions that no other table can refer to yet, by their IDs. */
  readonly #unstored = new Map<string, DatabaseSession>();
  /** IDs of this server itself. */
  readonly #systems = new Set<string>();
  /** Sessions with changes, those of the last tick and earlier ones. */
  #changed = new Set<DatabaseSession>();
  #changedBefore = new Set<DatabaseSession>();
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #movers: ((from: string, to: string) => void)[] = [];

  /**
   * @param trust milliseconds for which a session that was read is not read again (`access.md#sessions`)
   */
  constructor(
    private readonly state: StateDatabase,
    private readonly trust: number,
  ) {
    this.#sql = sessionSql(state);
  }

  async find(token: string): Promise<SessionRecord | undefined> {
    const hash = hashOf(token);
    const known = this.#known.get(hash);
    if (known === undefined || known.hash !== hash || known.version < 1) {
      return this.#read(token, hash);
    }
    if (!known.hasEnded && performance.now() < known.trustedUntil) return known;
    const [row] = await this.state.run([this.#sql.look, hash]);
    if (row === undefined) return undefined;
    const [id, version, ...times] = row as readonly [string, number, ...Times];
    return id === known.id && version === known.version && !known.hasEnded
      ? this.#used(known, times)
      : this.#read(token, hash);
  }

  /** The command that changes a user deletes the sessions in the database. */
  async endSessionsOfUsers(): Promise<void> {
    return;
  }

  async #read(token: string, hash: string): Promise<SessionRecord | undefined> {
    const rows = (await this.state.run([this.#sql.find, hash])) as readonly SessionRow[];
    const [row] = rows;
    if (row === undefined) return undefined;
    const known = this.#known.get(hash);
    const isKnown = known?.id === row[0] && known.hash === hash && !known.hasEnded;
    const session = isKnown ? known : this.#made(row, token, hash);
    if (row[1] < session.version) {
      // A change of this process was stored after the row was read, or the database has lost it:
      // what is read now is true.
      session.version = 0;
      return this.#read(token, hash);
    }
    this.#fill(session, rows);
    this.#known.set(hash, session);
    return this.#used(session, [row[2], row[3], row[4]]);
  }

  #made(row: SessionRow, token: string, hash: string): DatabaseSession {
    const session = new DatabaseSession(
      { id: row[0], ends: row[11], isForeign: row[9] === 1, address: row[10] ?? undefined },
      (changed) => this.#changed.add(changed),
    );
    session.token = token;
    session.hash = hash;
    return session;
  }

  #fill(session: DatabaseSession, rows: readonly SessionRow[]): void {
    const [first] = rows;
    if (first === undefined) return;
    const [, version, , , , userName, privileges, quotas, idleTimeout] = first;
    session.version = version;
    session.userName = userName;
    session.privileges = this.#privilegesOf(privileges);
    session.quotas = JSON.parse(quotas) as QuotaValues;
    session.idleTimeout = idleTimeout;
    session.storage.fill(
      rows.flatMap(([, , , , , , , , , , , , name, text]) =>
        name === null || text === null ? [] : [[JSON.parse(name) as string, text] as const],
      ),
    );
    const { change } = session;
    // What this process has changed and not stored yet stays.
    if (change !== undefined) Object.assign(session, change.values);
  }

  #privilegesOf(text: string): PrivilegeSet {
    if (text === '[]') return noPrivileges;
    const known = this.#privileges.get(text);
    if (known !== undefined) return known;
    const made = new Set(JSON.parse(text) as string[]);
    this.#privileges.set(text, made);
    return made;
  }

  /** Not every use is written: instead, the session lives longer by the time between two writes. */
  async #used(session: DatabaseSession, [refreshed, expires, now]: Times): Promise<SessionRecord> {
    session.expires = expires;
    const grain = grainOf(session.idleTimeout);
    const left = grain - (now - refreshed);
    session.trustedUntil = performance.now() + Math.min(this.trust, left > 0 ? left : grain);
    if (left > 0) return session;
    const { use, times } = this.#sql;
    const [row] = await this.state.run([use, session.id], [times, session.id]);
    if (row !== undefined) session.expires = Number(row[0]);
    return session;
  }

  begin(given: NewSession, room?: SessionRoom): DatabaseSession {
    const { token, userName, privileges, quotas, idleTimeout, ends, isForeign, address } = given;
    const session = new DatabaseSession(
      { id: newUuid(), ends: ends === Infinity ? null : ends, isForeign, address },
      (changed) => this.#changed.add(changed),
    );
    session.token = token;
    session.hash = hashOf(token);
    Object.assign(session, { userName, privileges, quotas, idleTimeout });
    session.expires = Date.now() + idleTimeout * 1000;
    session.beginning = { room, from: undefined };
    this.#unstored.set(session.id, session);
    this.#changed.add(session);
    return session;
  }

  replace(record: SessionRecord, given: NewSession, room?: SessionRoom): SessionRecord {
    const from = record as DatabaseSession;
    const session = this.begin(given, room);
    session.beginning = { room, from };
    session.storage.takeOver(from.storage);
    for (const move of this.#movers) move(from.id, session.id);
    from.change = undefined;
    from.hasEnded = true;
    from.wasReplaced = true;
    return session;
  }

  change(record: SessionRecord, change: SessionChange, room?: SessionRoom): void {
    const session = record as DatabaseSession;
    if (session.hasEnded) return;
    this.#note(session, change, room);
  }

  setIdleTimeout(record: SessionRecord, idleTimeout: number): void {
    const session = record as DatabaseSession;
    if (session.hasEnded) return;
    this.#note(session, { idleTimeout });
    session.expires = Date.now() + idleTimeout * 1000;
  }

  #note(session: DatabaseSession, values: Changed, room?: SessionRoom): void {
    Object.assign(session, values);
    session.trustedUntil = 0;
    if (session.beginning !== undefined) {
      // A guest's session may not be stored yet when the guest becomes a user.
      if (room !== undefined) session.beginning = { ...session.beginning, room };
      if (values.token !== undefined) session.hash = hashOf(values.token);
    } else {
      const { change } = session;
      session.change = {
        values: { ...change?.values, ...values },
        room: room ?? change?.room,
      };
    }
    this.#changed.add(session);
  }

  remove(record: SessionRecord): void {
    const session = record as DatabaseSession;
    if (session.hasEnded) return;
    session.hasEnded = true;
    session.isRemoved = true;
    this.#changed.add(session);
  }

  /**
   * What a session has changed is stored by one flush at a time: the next one waits for it, and
   * gets its error, because what it wanted to store may have been part of it.
   */
  async flush(record: SessionRecord, hasStorage: boolean): Promise<void> {
    const session = record as DatabaseSession;
    while (session.flushing !== undefined) await session.flushing;
    if (hasStorage && !session.hasEnded) session.storage.compare();
    this.#changed.delete(session);
    this.#changedBefore.delete(session);
    session.flushing = this.#flushNow(session);
    try {
      await session.flushing;
    } finally {
      session.flushing = undefined;
    }
  }

  /**
   * Makes sure that other tables can refer to a session. That of the server itself ends when the
   * server does not renew it any more.
   */
  async stored(id: string): Promise<void> {
    if (isSystemId(id)) {
      if (this.#systems.has(id)) return;
      await this.state.run([this.#sql.live, id]);
      this.#systems.add(id);
      return;
    }
    const session = this.#unstored.get(id);
    if (session !== undefined) await this.flush(session, false);
  }

  async #flushNow(session: DatabaseSession): Promise<void> {
    // Its predecessor may be about to be stored; the flush that stores it reports an error.
    await session.beginning?.from?.flushing?.catch(() => undefined);
    // Its successor stores what there is.
    if (session.wasReplaced) return;
    if (session.beginning !== undefined) return this.#store(session, session.beginning);
    if (session.isRemoved) return this.#end(session);
    const { change } = session;
    if (change === undefined && !session.storage.hasChanges) return;
    session.change = undefined;
    return this.#update(session, change);
  }

  async #run(
    session: DatabaseSession,
    statements: readonly StateStatement[],
  ): Promise<Rows[number] | undefined> {
    try {
      const [row] = await this.state.run(...statements);
      return row;
    } catch (error) {
      // The cached session may differ from the stored one, so the next request reads it.
      session.version = 0;
      throw error;
    }
  }

  async #store(session: DatabaseSession, { room, from }: StoredBeginning): Promise<void> {
    this.#unstored.delete(session.id);
    session.beginning = undefined;
    if (session.isRemoved) {
      session.isRemoved = false;
      if (from !== undefined && from.beginning === undefined) await this.#end(from);
      return;
    }
    const { id, userName, privileges, quotas, idleTimeout, ends, isForeign, address, hash } =
      session;
    const isOfGuest = isGuest(userName, privileges);
    const place = address === undefined ? null : network(address);
    const sql = this.#sql;
    const isMoved = from !== undefined && from.beginning === undefined;
    if (from !== undefined) {
      this.#unstored.delete(from.id);
      from.beginning = undefined;
    }
    const statements: StateStatement[] = [
      [
        sql.begin,
        id,
        hash,
        userName,
        textOf(privileges),
        JSON.stringify(quotas),
        idleTimeout,
        ends,
        Number(isForeign),
        address ?? null,
        place,
        Number(isOfGuest),
        room === undefined ? null : isOfGuest ? room.guests : room.users,
        room === undefined || !isOfGuest ? null : room.guestsOfAddress,
      ],
      ...(isMoved ? sql.moves.map((each): StateStatement => [each, from.id, id]) : []),
      ...session.storage.takeChanges(id),
      [sql.begun, id, hash, place],
    ];
    let row: Rows[number] | undefined;
    try {
      // A token that is still valid begins another session when its session has expired.
      if (isForeign) await this.#endExpired(this.#sql.endExpiredOf, hash);
      row = await this.#run(session, statements);
    } catch (error) {
      session.hasEnded = true;
      throw error;
    }
    const [version, other, guests] = row as readonly [number | null, string | null, number];
    if (version !== null) {
      session.version = version;
      this.#known.set(hash, session);
      if (isMoved) this.#ended(from.id);
      return;
    }
    session.hasEnded = true;
    // Another server has begun a session with this bearer token.
    if (other !== null) return;
    const most = room?.guestsOfAddress ?? Infinity;
    throw isOfGuest && place !== null && guests >= most ? addressFull(most) : sessionsFull();
  }

  async #end(session: DatabaseSession): Promise<void> {
    session.isRemoved = false;
    await this.#run(session, [[this.#sql.end, session.id]]);
    this.#ended(session.id);
  }

  async #update(session: DatabaseSession, change: WaitingChange | undefined): Promise<void> {
    const { values, room } = change ?? { values: {}, room: undefined };
    const { userName, privileges, quotas, idleTimeout, token } = values;
    const isOfGuest = isGuest(session.userName, session.privileges);
    const isAnother = userName !== undefined || privileges !== undefined;
    const hash = token === undefined ? null : hashOf(token);
    const before = session.hash;
    const raised = randomInt(1, mostRaised);
    const statements: StateStatement[] = [
      [
        this.#sql.change,
        session.id,
        userName ?? null,
        privileges === undefined ? null : textOf(privileges),
        quotas === undefined ? null : JSON.stringify(quotas),
        isAnother ? Number(isOfGuest) : null,
        idleTimeout ?? null,
        hash,
        before,
        room?.users ?? null,
        raised,
      ],
      ...session.storage.takeChanges(session.id),
      [this.#sql.changed, session.id],
    ];
    const row = await this.#run(session, statements);
    if (row === undefined) {
      // It has ended elsewhere, and its client may have another one: this request sends none.
      session.hasEnded = true;
      session.wasReplaced = true;
      return;
    }
    const [version, stored, isStillGuest] = row as readonly [number, string, number];
    // Another server has changed it as well.
    session.version = version === session.version + raised ? version : 0;
    if (room !== undefined && isStillGuest === 1 && !isOfGuest) {
      session.version = 0;
      throw sessionsFull();
    }
    if (hash === null) return;
    if (stored === hash) {
      session.hash = hash;
      this.#known.set(hash, session);
      return;
    }
    // Another server has renewed the token: its answer brings the one that opens the session.
    session.token = '';
    session.version = 0;
  }

  #ended(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }

  async list(): Promise<readonly SessionRecord[]> {
    const rows = (await this.state.run([this.#sql.list])) as readonly SessionRow[];
    return rows.map((row) => {
      const session = this.#made(row, '', '');
      this.#fill(session, [row]);
      session.expires = row[3];
      return session;
    });
  }

  onEnd(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  onMove(listener: (from: string, to: string) => void): void {
    this.#movers.push(listener);
  }

  /**
   * Stores what code has changed after its request was answered, and removes expired sessions. Call
   * it from time to time.
   */
  async tick(): Promise<void> {
    const late = this.#changedBefore;
    this.#changedBefore = this.#changed;
    this.#changed = new Set();
    for (const session of late) {
      await this.#flushLate(session);
    }
    for (const id of this.#systems) await this.state.run([this.#sql.live, id]);
    await this.#endExpired(this.#sql.endExpired);
  }

  async #endExpired(...statement: StateStatement): Promise<void> {
    const rows = await this.state.run(statement);
    for (const [id] of rows) this.#ended(String(id));
  }

  /** The sessions continue in the other servers, and in this one when it starts again. */
  async close(): Promise<void> {
    for (const session of [...this.#changedBefore, ...this.#changed]) {
      await this.#flushLate(session);
    }
    for (const id of this.#systems) {
      try {
        await this.state.run([this.#sql.end, id]);
      } catch {
        // It expires by itself.
      }
    }
  }

  async #flushLate(session: DatabaseSession): Promise<void> {
    try {
      await this.flush(session, true);
    } catch {
      // A request that made the session and still runs gets the error; otherwise nobody needs it.
    }
  }
}

type Times = readonly [refreshed: number, expires: number, now: number];

/** The columns of a session with one of its values. */
type SessionRow = readonly [
  id: string,
  version: number,
  ...times: Times,
  userName: string,
  privileges: string,
  quotas: string,
  idle: number,
  isForeign: number,
  address: string | null,
  ends: number | null,
  name: string | null,
  value: string | null,
];

type Changed = SessionChange & { readonly idleTimeout?: number };

interface WaitingChange {
  readonly values: Changed;
  /** Set if it makes a user of a guest. */
  readonly room: SessionRoom | undefined;
}

interface StoredBeginning {
  readonly room: SessionRoom | undefined;
  /** The session that it takes over. */
  readonly from: DatabaseSession | undefined;
}

interface Fixed {
  readonly id: string;
  readonly ends: number | null;
  readonly isForeign: boolean;
  readonly address: string | undefined;
}

/** A session as this process knows it, with the changes that are not stored yet. */
class DatabaseSession implements SessionRecord {
  readonly id: string;
  readonly isForeign: boolean;
  readonly address: string | undefined;
  readonly ends: number | null;
  readonly storage: StoredValues;
  token = '';
  userName = '';
  privileges: PrivilegeSet = noPrivileges;
  quotas: QuotaValues = {};
  idleTimeout = 0;
  expires = 0;
  hasEnded = false;
  wasReplaced = false;
  /** The hash of the token that the database knows. */
  hash = '';
  /** The version that this process has read or stored; 0 if there is none, or if another server has changed it. */
  version = 0;
  /** Until when it is not read again, and its uses are not written, in the time of `performance.now()`. */
  trustedUntil = 0;
  /** Set until it is stored for the first time. */
  beginning: StoredBeginning | undefined;
  change: WaitingChange | undefined;
  isRemoved = false;
  flushing: Promise<void> | undefined;

  constructor(
    { id, ends, isForeign, address }: Fixed,
    changed: (session: DatabaseSession) => void,
  ) {
    this.id = id;
    this.ends = ends;
    this.isForeign = isForeign;
    this.address = address;
    this.storage = new StoredValues(() => {
      changed(this);
    });
  }
}

function textOf(privileges: PrivilegeSet): string {
  return JSON.stringify([...privileges].sort());
}

/** The database never holds a token, so nobody can use a session by reading a copy of it. */
function hashOf(token: string): string {
  return digestOf('sha256', token, 'base64');
}

/** The time between two writes of a use: this part of the lifetime, and at most so many milliseconds. */
const longestGrain = 10_000;
const grainPart = 0.01;

/** @param seconds of a lifetime */
export function grainOf(seconds: number): number {
  return Math.min(seconds * 1000 * grainPart, longestGrain);
}

/** SQL for the time when something ends that is used now: its lifetime, and the time between two writes. */
export function expiryAfter(now: string, seconds: string): string {
  const grain = `case when ${seconds} * ${1000 * grainPart} < ${longestGrain} then ${seconds} * ${1000 * grainPart} else ${longestGrain} end`;
  return `(${now} + ${seconds} * 1000 + ${grain})`;
}

/** How long the session of a dead server lives. */
const systemSeconds = 60;
/** `is_guest` of the server's own session, which counts neither as a user's (0) nor as a guest's (1). */
const ofServer = 2;

interface SessionSql {
  readonly look: string;
  readonly find: string;
  readonly list: string;
  readonly live: string;
  readonly begin: string;
  readonly begun: string;
  readonly moves: readonly string[];
  readonly change: string;
  readonly changed: string;
  readonly use: string;
  readonly times: string;
  readonly end: string;
  readonly endExpired: string;
  readonly endExpiredOf: string;
}

function sessionSql({ now, skipLocked }: StateDatabase): SessionSql {
  const columns = `s.id, s.version, s.refreshed, s.expires, ${now}, s.user_name, s.privileges, s.quotas, s.idle,
    s.is_foreign, s.address, s.ends`;
  const living = `(select count(*) from drs_state.session where is_guest = cast($11 as integer) and expires > ${now})`;
  const guestsOf = (place: string): string =>
    `(select count(*) from drs_state.session where is_guest = 1 and network = ${place} and expires > ${now})`;
  const until = (seconds: string, ends: string): string => {
    const expiry = expiryAfter(now, seconds);
    return `case when ${ends} < ${expiry} then ${ends} else ${expiry} end`;
  };
  const isThere = 'exists (select 1 from drs_state.session where id = $2)';
  const move = (table: string, column: string): string =>
    `update drs_state.${table} set ${column} = $2 where ${column} = $1 and ${isThere}`;
  const idle = 'coalesce(cast($6 as double precision), idle)';
  return {
    look: `select id, version, refreshed, expires, ${now} from drs_state.session where token_hash = $1 and expires > ${now}`,
    find: `select ${columns}, v.name, v.value from drs_state.session s left join drs_state.stored v on v.session = s.id
      where s.token_hash = $1 and s.expires > ${now} order by v.position`,
    list: `select ${columns}, null, null from drs_state.session s
      where s.expires > ${now} and s.is_guest <> ${ofServer} order by s.refreshed`,
    live: `insert into drs_state.session (id, token_hash, user_name, privileges, quotas, idle, refreshed, expires,
        is_foreign, is_guest, version)
      values ($1, $1, 'system', '[]', '{}', ${systemSeconds}, ${now}, ${now} + ${systemSeconds * 1000}, 0, ${ofServer}, 1)
      on conflict (id) do update set expires = excluded.expires`,
    begin: `insert into drs_state.session (id, token_hash, user_name, privileges, quotas, idle, refreshed, expires, ends,
        is_foreign, address, network, is_guest, version)
      select cast($1 as text), cast($2 as text), cast($3 as text), cast($4 as text), cast($5 as text),
        cast($6 as double precision), ${now}, ${until('cast($6 as double precision)', 'cast($7 as double precision)')},
        cast($7 as double precision), cast($8 as integer), cast($9 as text), cast($10 as text), cast($11 as integer), 1
      where (cast($12 as integer) is null or ${living} < cast($12 as integer))
        and (cast($13 as integer) is null or ${guestsOf('cast($10 as text)')} < cast($13 as integer))
      on conflict (token_hash) do nothing`,
    begun: `select (select version from drs_state.session where id = $1),
      (select id from drs_state.session where token_hash = $2), ${guestsOf('cast($3 as text)')}`,
    moves: [
      move('stored', 'session'),
      move('lock', 'session'),
      move('singleton', 'session'),
      move('entityset', 'owner'),
      move('entityset', 'maker'),
      move('upload', 'owner'),
      `delete from drs_state.session where id = $1 and ${isThere}`,
    ],
    // What others have changed in the meantime stays; of two new tokens the first one wins.
    change: `update drs_state.session set user_name = coalesce(cast($2 as text), user_name),
        privileges = coalesce(cast($3 as text), privileges), quotas = coalesce(cast($4 as text), quotas),
        is_guest = coalesce(cast($5 as integer), is_guest), idle = ${idle}, refreshed = ${now}, expires = ${until(idle, 'ends')},
        token_hash = case when cast($7 as text) is not null and token_hash = $8 then cast($7 as text) else token_hash end,
        version = version + cast($10 as bigint)
      where id = $1 and (cast($9 as integer) is null or is_guest = 0
        or (select count(*) from drs_state.session where is_guest = 0 and expires > ${now}) < cast($9 as integer))`,
    changed: 'select version, token_hash, is_guest from drs_state.session where id = $1',
    use: `update drs_state.session set refreshed = ${now}, expires = ${until('idle', 'ends')} where id = $1`,
    times: 'select expires from drs_state.session where id = $1',
    end: 'delete from drs_state.session where id = $1',
    endExpired: `delete from drs_state.session where id in (select id from drs_state.session
      where expires <= ${now} limit ${batch}${skipLocked}) returning id`,
    endExpiredOf: `delete from drs_state.session where token_hash = $1 and expires <= ${now} returning id`,
  };
}
