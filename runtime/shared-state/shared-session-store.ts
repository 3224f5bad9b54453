import { isGuest } from '../access/grants.js';
import { network } from '../access/quotas.js';
import type { PrivilegeSet } from '../access/session.js';
import type {
  NewSession,
  SessionChange,
  SessionCounts,
  SessionRecord,
  SessionStore,
} from '../access/session-store.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import { newUuid } from '../protocol/uuid.js';
import { RateTable, SharedRates } from './shared-rates.js';
import {
  type SessionReader,
  type SessionRow,
  SharedSession,
  SessionStatements,
} from './shared-session.js';
import { SharedStorage, StoredValues } from './shared-storage.js';
import { everySecond, grainOf, longestTrust, type Sharing } from './sharing.js';
import { ownText } from '../protocol/own-text.js';

/** Bytes of the sessions that a process caches, about 2 kB each. */
const maxKnownBytes = 32 * 1024 * 1024;
/**
 * How long the ID of a guest's session stays known after the guest logged in: requests that came
 * with it may still run.
 */
const replacedMilliseconds = 600_000;
/** How often a session is read again while a request uses it. */
const lookMilliseconds = 5;

/**
 * Sessions of all processes of a server. An expired session is never returned; it ends a second
 * later at most.
 */
export class SharedSessionStore implements SessionStore {
  readonly isShared = true;
  readonly #statements: SessionStatements;
  readonly #values: StoredValues;
  readonly #rates: RateTable;
  readonly #known = new BoundedCache<SharedSession>(maxKnownBytes, () => 2048);
  readonly #reader: SessionReader;
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #cancelTick: () => void;

  constructor(private readonly sharing: Sharing) {
    const { state } = sharing;
    this.#statements = new SessionStatements(state);
    this.#values = new StoredValues(state);
    this.#rates = new RateTable(state);
    this.#reader = {
      storageOf: (session) => new SharedStorage(this.#values, session),
      ratesOf: (session) => new SharedRates(this.#rates, session),
      refresh: (session) => {
        if (sharing.clock.now() - session.looked >= lookMilliseconds) this.#look(session);
      },
    };
    this.#cancelTick = everySecond(sharing, () => {
      this.#endExpired(sharing.clock.now());
    });
  }

  find(token: string): SessionRecord | undefined {
    const session = this.#knownBy(token) ?? this.#readBy(token);
    if (session === undefined) return undefined;
    // Just now.
    const now = session.looked;
    if (session.expires <= now) {
      // Another process may have used it.
      this.#read(session);
      if (session.isGone) return undefined;
      if (session.expires <= now) {
        this.remove(session);
        return undefined;
      }
    }
    if (now - session.refreshed >= grainOf(this.sharing, session.idleTimeout * 1000)) {
      this.sharing.state.change(() => {
        this.#use(session, now);
      });
    }
    return session;
  }

  begin(session: NewSession): SessionRecord {
    return this.sharing.state.change(() => {
      const same = this.#readBy(session.token);
      if (same !== undefined) return same;
      const { token, userName, quotas, idleTimeout, ends, address } = session;
      const id = newUuid();
      const refreshed = this.sharing.clock.now();
      this.#statements.add.run(
        id,
        token,
        userName,
        textOf(session.privileges),
        JSON.stringify(quotas),
        idleTimeout,
        refreshed,
        this.#expiry(refreshed, { idleTimeout, ends }),
        ends,
        Number(session.isForeign),
        address ?? null,
        address === undefined ? null : network(address),
        Number(isGuest(userName, session.privileges)),
      );
      this.#raise(token);
      const made = this.#readBy(token);
      if (made === undefined) throw new Error('A session that was begun cannot be found.');
      return made;
    });
  }

  change(record: SessionRecord, change: SessionChange): void {
    this.#changing(record, (session) => {
      const { token, userName, privileges, quotas } = { ...picked(session), ...change };
      const isOfGuest = Number(isGuest(userName, privileges));
      const values = [token, userName, textOf(privileges), JSON.stringify(quotas), isOfGuest];
      this.#statements.change.run(...values, session.id);
    });
  }

  setIdleTimeout(record: SessionRecord, seconds: number): void {
    this.#changing(record, (session) => {
      this.#statements.time.run(seconds, session.id);
      session.idleTimeout = seconds;
      this.#use(session, this.sharing.clock.now());
    });
  }

  moveOf(from: SessionRecord, to: SessionRecord): void {
    this.sharing.state.change(() => {
      this.#values.move(from.id, to.id);
      this.#rates.move(from.id, to.id);
    });
  }

  remove(record: SessionRecord, wasReplaced = false): void {
    this.#changing(record, ({ id }) => {
      if (wasReplaced) {
        const expires = this.sharing.clock.now() + replacedMilliseconds;
        this.#statements.replace.run(id, expires);
      }
      this.#statements.remove.run(id);
      this.#values.clear(id);
      this.#rates.remove(id);
      for (const listener of this.#listeners) listener(id);
    });
  }

  save(record: SessionRecord): void {
    (record as SharedSession).save();
  }

  look(record: SessionRecord): void {
    this.#look(record as SharedSession);
  }

  together<T>(changes: () => T): T {
    return this.sharing.state.change(changes);
  }

  get counts(): SessionCounts {
    return {
      guests: Number(this.#statements.total.first('guests')),
      users: Number(this.#statements.total.first('users')),
    };
  }

  guestsFrom(address: string): number {
    return Number(this.#statements.guestsFrom.first(network(address)));
  }

  list(): readonly SessionRecord[] {
    const rows = this.#statements.living.all(this.sharing.clock.now()) as readonly SessionRow[];
    return rows.map((row) => new SharedSession(this.#reader, row));
  }

  onEnd(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  /** The sessions continue in the other processes. */
  close(): void {
    this.#cancelTick();
  }

  #knownBy(token: string): SharedSession | undefined {
    const session = this.#known.get(token);
    if (session === undefined || !isOpenedBy(session, token)) return undefined;
    this.#look(session);
    return isOpenedBy(session, token) ? session : undefined;
  }

  #readBy(token: string): SharedSession | undefined {
    const generation = this.#generationOf(token);
    const row = this.#statements.byToken.first(token);
    if (row === undefined) return undefined;
    const session = new SharedSession(this.#reader, row as SessionRow);
    this.#note(session, generation);
    this.#known.set(ownText(token), session);
    return session;
  }

  #look(session: SharedSession): void {
    session.looked = this.sharing.clock.now();
    if (session.looked - session.read > longestTrust) this.#read(session);
    else if (this.#generationOf(session.token) !== session.generation) this.#read(session);
  }

  #read(session: SharedSession): void {
    while (!session.isGone) {
      const { token } = session;
      const generation = this.#generationOf(token);
      const row = this.#statements.byId.first(session.id);
      if (row === undefined) {
        session.isGone = true;
        session.wasReplaced = this.#statements.wasReplaced.first(session.id) !== undefined;
        return;
      }
      session.fill(row as SessionRow);
      this.#note(session, generation);
      // The number must belong to the token that was read.
      if (session.token === token) return;
    }
  }

  #note(session: SharedSession, generation: number): void {
    session.generation = generation;
    session.read = this.sharing.clock.now();
    session.looked = session.read;
  }

  #generationOf(token: string): number {
    return this.sharing.generations.of('session', slotOf(token));
  }

  #raise(token: string): void {
    const { state, generations } = this.sharing;
    state.afterwards(() => {
      generations.raise('session', slotOf(token));
    });
  }

  /** Call it inside a change. */
  #use(session: SharedSession, now: number): void {
    session.refreshed = now;
    session.expires = this.#expiry(now, session);
    this.#statements.use.run(now, session.expires, session.id);
  }

  #expiry(now: number, { idleTimeout, ends }: Pick<SharedSession, 'idleTimeout' | 'ends'>): number {
    const idle = idleTimeout * 1000;
    return Math.min(now + idle + grainOf(this.sharing, idle), ends);
  }

  #changing(record: SessionRecord, change: (session: SharedSession) => void): void {
    this.sharing.state.change(() => {
      const session = record as SharedSession;
      this.#read(session);
      if (session.isGone) return;
      const { token } = session;
      change(session);
      this.#read(session);
      this.#raise(token);
      if (session.token === token) return;
      // If the change is rolled back, the new token opens nothing.
      this.#raise(session.token);
      this.#known.set(session.token, session);
    });
  }

  #endExpired(now: number): void {
    const ids = this.#statements.expired.all(now) as readonly string[];
    if (ids.length === 0) return;
    this.sharing.state.change(() => {
      for (const id of ids) {
        const row = this.#statements.byId.first(id);
        if (row === undefined) continue;
        const session = new SharedSession(this.#reader, row as SessionRow);
        // Another process may have used it, or ended it.
        if (session.expires <= now) this.remove(session);
      }
      this.#statements.forget.run(now);
    });
  }
}

function isOpenedBy(session: SharedSession, token: string): boolean {
  return session.token === token && !session.isGone;
}

type Changed = Pick<SharedSession, 'token' | 'userName' | 'privileges' | 'quotas'>;

function picked({ token, userName, privileges, quotas }: SharedSession): Changed {
  return { token, userName, privileges, quotas };
}

function textOf(privileges: PrivilegeSet): string {
  return JSON.stringify([...privileges].sort());
}

/** A bearer token has a word before its digits. */
function slotOf(token: string): string {
  return token.slice(token.indexOf(' ') + 1);
}
