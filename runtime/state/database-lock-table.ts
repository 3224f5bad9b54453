import { hash as digestOf } from 'node:crypto';
import { sql } from 'kysely';
import {
  type Lock,
  type LockGuard,
  type LockHolder,
  type LockOfDataclass,
  type LockTable,
  TooManyLocksError,
} from '../access/locks.js';
import { ConstraintError, type Rows, type Transaction } from '../dialect/executor.js';
import type { StateDatabase, StateStatement } from '../dialect/state-database.js';
import { refuse } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import { requireFree } from './schema.js';

type LockRow = readonly [
  key: string,
  session: string,
  host: string | null,
  address: string | null,
  userAgent: string | null,
];

/** Keys that one statement names. */
const batch = 500;

/**
 * Locks of all servers. A lock that was given keeps others from changing the entity, whichever
 * server they ask, also at the same moment:
 *
 * - A change locks the row of the entity first, and reads the lock then: by a function that it
 *   calls for the changed row (`call` of {@link guard}), or by a later statement of its transaction
 *   ({@link refusal}). On SQLite the transaction alone may write, so it may read the lock first.
 * - A server that gives a lock stores it, and then waits until nobody has locked the row
 *   (`waitForWriters`), before it answers the client.
 *
 * So a change either has ended when the client learns of its lock, or finds the lock. Of two
 * sessions that ask for one lock, the primary key lets one have it.
 *
 * The locks of a session that has expired, and is not removed yet, do not count.
 */
export class DatabaseLockTable implements LockTable {
  /** Another server may give a lock at any moment. */
  readonly isEmpty = false;
  readonly guard: LockGuard | undefined;
  readonly #freed: string;
  readonly #lock: string;
  readonly #locked: string;
  readonly #find: string;

  /**
   * @param most that one session may hold
   * @param fold the form in which the database compares texts
   * @param stored makes sure that locks can refer to a session
   */
  constructor(
    private readonly state: StateDatabase,
    private readonly most: number,
    private readonly fold: Fold,
    private readonly stored: (session: string) => Promise<void>,
  ) {
    const { now } = state;
    const ofHolder = '(select count(*) from drs_state.lock where session = $1)';
    this.#freed = `delete from drs_state.lock where dataclass = $1 and key_hash = $2
      and session in (select id from drs_state.session where expires <= ${now})`;
    this.#lock = `insert into drs_state.lock (dataclass, key_hash, key, session, host, address, user_agent)
      select cast($2 as text), cast($3 as text), cast($4 as text), id, cast($5 as text), cast($6 as text), cast($7 as text)
      from drs_state.session where id = $1 and ${ofHolder} < cast($8 as integer)
      on conflict (dataclass, key_hash) do nothing`;
    this.#locked = `select l.key, l.session, l.host, l.address, l.user_agent, s.held
      from (select ${ofHolder} as held from drs_state.session where id = $1) as s
      left join drs_state.lock l on l.dataclass = $2 and l.key_hash = $3`;
    const columns = 'l.key, l.session, l.host, l.address, l.user_agent';
    this.#find = `select ${columns} from drs_state.lock l join drs_state.session s on s.id = l.session
      where l.dataclass = $1 and l.key_hash = $2 and s.expires > ${now}`;
    this.guard = this.#guardOf(state.schema);
  }

  #guardOf(schema: string | undefined): LockGuard | undefined {
    if (schema === undefined) return undefined;
    const called = sql.id(schema, requireFree);
    const [lock, holder] = [sql.id(schema, 'lock'), sql.id(schema, 'session')];
    return {
      call: (dataclass, key, session) => sql`${called}(${sql.lit(dataclass)}, ${key}, ${session})`,
      held: (dataclass, key, session) =>
        sql`(select cast(json_build_array(l.key, l.session, l.host, l.address, l.user_agent) as text)
          from ${lock} l join ${holder} s on s.id = l.session
          where l.dataclass = ${sql.lit(dataclass)} and l.key_hash = ${key}
            and l.session is distinct from ${session} and s.expires > extract(epoch from now()) * 1000)`,
      read: (text) => (text === null ? undefined : lockOf(JSON.parse(String(text)) as LockRow)),
      values: (key, session) => [this.#named(key)[0], session ?? null],
    };
  }

  async lock(
    dataclass: string,
    key: string | number,
    { session, origin }: LockHolder,
  ): Promise<true | Lock> {
    const { host = null, address = null, userAgent = null } = origin ?? {};
    const [hash, text] = this.#named(key);
    const statements: readonly StateStatement[] = [
      [this.#freed, dataclass, hash],
      [this.#lock, session, dataclass, hash, text, host, address, userAgent, this.most],
      [this.#locked, session, dataclass, hash],
    ];
    let row: Rows[number] | undefined;
    try {
      await this.stored(session);
      [row] = await this.state.run(...statements);
    } catch (error) {
      // The session ended between the statements.
      throw error instanceof ConstraintError ? sessionEnded() : error;
    }
    if (row === undefined) throw sessionEnded();
    if (row[1] === null) throw new TooManyLocksError(this.most);
    return row[1] === session ? true : lockOf(row as unknown as LockRow);
  }

  async unlock(
    dataclass: string,
    key: string | number,
    session: string | undefined,
  ): Promise<true | Lock> {
    const [hash] = this.#named(key);
    const ended: StateStatement = [
      'delete from drs_state.lock where dataclass = $1 and key_hash = $2 and session = $3',
      dataclass,
      hash,
      session ?? '',
    ];
    return firstOf(await this.state.run(ended, [this.#find, dataclass, hash])) ?? true;
  }

  holderOf(dataclass: string, key: string | number): Promise<Lock | undefined> {
    return this.refusal(dataclass, key, undefined);
  }

  async refusal(
    dataclass: string,
    key: string | number,
    session: string | undefined,
    transaction?: Transaction,
  ): Promise<Lock | undefined> {
    const [hash] = this.#named(key);
    const lock = firstOf(await this.#read([this.#find, dataclass, hash], transaction));
    return lock?.session === session ? undefined : lock;
  }

  async locksOf(
    dataclasses: readonly string[],
    transaction?: Transaction,
  ): Promise<readonly LockOfDataclass[]> {
    const places = dataclasses.map((_, at) => `$${at + 1}`).join(', ');
    const text = `select l.key, l.session, l.host, l.address, l.user_agent, l.dataclass
      from drs_state.lock l join drs_state.session s on s.id = l.session
      where l.dataclass in (${places}) and s.expires > ${this.state.now}`;
    const rows = await this.#read([text, ...dataclasses], transaction);
    return (rows as unknown as readonly (readonly [...LockRow, dataclass: string])[]).map((row) => {
      const [key, session, host, address, userAgent, dataclass] = row;
      return { ...lockOf([key, session, host, address, userAgent]), dataclass };
    });
  }

  async forget(dataclass: string, keys: readonly (string | number)[]): Promise<void> {
    for (let at = 0; at < keys.length; at += batch) {
      const hashes = keys.slice(at, at + batch).map((key) => this.#named(key)[0]);
      const places = hashes.map((_, index) => `$${index + 2}`).join(', ');
      const text = `delete from drs_state.lock where dataclass = $1 and key_hash in (${places})`;
      await this.state.run([text, dataclass, ...hashes]);
    }
  }

  #read(statement: StateStatement, transaction: Transaction | undefined): Promise<Rows> {
    return transaction === undefined
      ? this.state.run(statement)
      : this.state.readWithin(transaction, statement);
  }

  /** A key of any length and type, as part of an index, and as JSON. */
  #named(key: string | number): readonly [hash: string, text: string] {
    const text = JSON.stringify(typeof key === 'string' ? this.fold(key) : key);
    return [digestOf('sha256', text, 'base64'), text];
  }
}

function firstOf([row]: Rows): Lock | undefined {
  return row === undefined ? undefined : lockOf(row as unknown as LockRow);
}

function lockOf([key, session, host, address, userAgent]: LockRow): Lock {
  const origin =
    host === null ? undefined : { host, address: address ?? '', userAgent: userAgent ?? '' };
  return { key: JSON.parse(key) as string | number, session, origin };
}

/** The refusal of a request whose session another server has just ended. */
export function sessionEnded(): Error {
  return refuse('noSession', 'The session has ended while the request ran: send it again.');
}
