import { noPrivileges } from '../access/grants.js';
import { type QuotaValues, hasRates, type Rates } from '../access/quotas.js';
import type { PrivilegeSet } from '../access/session.js';
import type { SessionRecord } from '../access/session-store.js';
import type { SharedStorage } from './shared-storage.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/** The columns of a session in the state. */
export type SessionRow = readonly [
  id: string,
  token: string,
  userName: string,
  privileges: string,
  quotas: string,
  idleTimeout: number,
  refreshed: number,
  expires: number,
  ends: number,
  isForeign: number,
  address: string | null,
];

export const sessionColumns =
  '"id", "token", "userName", "privileges", "quotas", "idleTimeout", "refreshed", "expires", "ends", "isForeign", "address"';

/** Reads a session again if another process may have changed it. */
export interface SessionReader {
  readonly storageOf: (session: string) => SharedStorage;
  readonly ratesOf: (session: string) => Rates;
  /** Reads what has changed since the session was last read. */
  refresh(session: SharedSession): void;
}

/** A session as one process knows it; whether it has ended is checked again at each access. */
export class SharedSession implements SessionRecord {
  readonly id: string;
  readonly isForeign: boolean;
  readonly address: string | undefined;
  readonly ends: number;
  token = '';
  userName = '';
  privileges: PrivilegeSet = noPrivileges;
  quotas: QuotaValues = {};
  rates: Rates | undefined;
  idleTimeout = 0;
  refreshed = 0;
  expires = 0;
  wasReplaced = false;
  /** Whether it has ended, as far as this process knows. */
  isGone = false;
  /**
   * The number of its token before it was read; then when it was read, and when the number was last
   * checked.
   */
  generation = NaN;
  read = -Infinity;
  looked = -Infinity;
  #privileges = '[]';
  #quotas = '{}';
  #storage: SharedStorage | undefined;
  readonly #reader: SessionReader;

  constructor(reader: SessionReader, row: SessionRow) {
    this.#reader = reader;
    [this.id] = row;
    this.ends = row[8];
    this.isForeign = row[9] === 1;
    this.address = row[10] ?? undefined;
    this.fill(row);
  }

  fill(row: SessionRow): void {
    const [, token, userName, privileges, quotas, idleTimeout, refreshed, expires] = row;
    this.token = token;
    this.userName = userName;
    // Caches by the set of privileges use the set itself as the key.
    if (privileges !== this.#privileges) {
      this.#privileges = privileges;
      this.privileges =
        privileges === '[]' ? noPrivileges : new Set(JSON.parse(privileges) as string[]);
    }
    if (quotas !== this.#quotas) {
      this.#quotas = quotas;
      this.quotas = JSON.parse(quotas) as QuotaValues;
      if (hasRates(this.quotas)) this.rates ??= this.#reader.ratesOf(this.id);
    }
    this.idleTimeout = idleTimeout;
    this.refreshed = refreshed;
    this.expires = expires;
  }

  get hasEnded(): boolean {
    if (!this.isGone) this.#reader.refresh(this);
    return this.isGone;
  }

  get storage(): SharedStorage {
    return (this.#storage ??= this.#reader.storageOf(this.id));
  }

  /** See {@link SharedStorage.save}. */
  save(): void {
    this.#storage?.save();
  }
}

/** The statements of the session store. */
export class SessionStatements {
  readonly byToken: StateStatement;
  readonly byId: StateStatement;
  readonly living: StateStatement;
  readonly expired: StateStatement;
  readonly total: StateStatement;
  readonly guestsFrom: StateStatement;
  readonly wasReplaced: StateStatement;
  readonly add: StateStatement;
  readonly change: StateStatement;
  readonly use: StateStatement;
  readonly time: StateStatement;
  readonly remove: StateStatement;
  readonly replace: StateStatement;
  readonly forget: StateStatement;

  constructor(state: StateDatabase) {
    const select = `select ${sessionColumns} from "session"`;
    this.byToken = state.prepare(`${select} where "token" = ?`);
    this.byId = state.prepare(`${select} where "id" = ?`);
    this.living = state.prepare(`${select} where "expires" > ?`);
    this.expired = state.prepare('select "id" from "session" where "expires" <= ?');
    this.total = state.prepare('select "value" from "total" where "name" = ?');
    this.guestsFrom = state.prepare(
      'select count(*) from "session" where "network" = ? and "isGuest" = 1',
    );
    this.wasReplaced = state.prepare('select 1 from "replaced" where "session" = ?');
    this.add = state.prepare(
      'insert into "session" values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.change = state.prepare(
      `update "session" set "token" = ?, "userName" = ?, "privileges" = ?, "quotas" = ?, "isGuest" = ?
       where "id" = ?`,
    );
    this.use = state.prepare('update "session" set "refreshed" = ?, "expires" = ? where "id" = ?');
    this.time = state.prepare('update "session" set "idleTimeout" = ? where "id" = ?');
    this.remove = state.prepare('delete from "session" where "id" = ?');
    this.replace = state.prepare('insert or replace into "replaced" values (?, ?)');
    this.forget = state.prepare('delete from "replaced" where "expires" <= ?');
  }
}
