import { type Lock, type LockHolder, type LockTable, TooManyLocksError } from '../access/locks.js';
import type { Fold } from '../protocol/fold.js';
import { longestTrust, type Sharing } from './sharing.js';
import type { StateStatement } from './state-database.js';

type Row = readonly [
  key: string | number,
  session: string,
  host: string | null,
  address: string | null,
  userAgent: string | null,
];

const columns = '"key", "session", "host", "address", "userAgent"';

/** Locks of all processes. */
export class SharedLockTable implements LockTable {
  readonly #count: StateStatement;
  readonly #countOf: StateStatement;
  readonly #find: StateStatement;
  readonly #ofDataclass: StateStatement;
  readonly #add: StateStatement;
  readonly #remove: StateStatement;
  readonly #removeOf: StateStatement;
  readonly #move: StateStatement;
  #known = { size: 0, generation: NaN, read: 0 };

  /**
   * @param most that one session may hold
   * @param fold the form in which the database compares texts
   */
  constructor(
    private readonly sharing: Sharing,
    private readonly most: number,
    private readonly fold: Fold,
  ) {
    const { state } = sharing;
    const one = 'where "dataclass" = ? and "key" = ?';
    this.#count = state.prepare(`select "value" from "total" where "name" = 'locks'`);
    this.#countOf = state.prepare('select count(*) from "lock" where "session" = ?');
    this.#find = state.prepare(`select ${columns} from "lock" ${one}`);
    this.#ofDataclass = state.prepare(`select ${columns} from "lock" where "dataclass" = ?`);
    this.#add = state.prepare('insert into "lock" values (?, ?, ?, ?, ?, ?)');
    this.#remove = state.prepare(`delete from "lock" ${one}`);
    this.#removeOf = state.prepare('delete from "lock" where "session" = ?');
    this.#move = state.prepare('update "lock" set "session" = ? where "session" = ?');
  }

  get size(): number {
    const { state, generations, clock } = this.sharing;
    if (state.isChanging) return Number(this.#count.first());
    const generation = generations.of('lock', '');
    const now = clock.now();
    const { generation: known, read } = this.#known;
    if (generation !== known || now - read > longestTrust) {
      this.#known = { size: Number(this.#count.first()), generation, read: now };
    }
    return this.#known.size;
  }

  lock(dataclass: string, key: string | number, { session, origin }: LockHolder): true | Lock {
    return this.sharing.state.change(() => {
      const held = this.holderOf(dataclass, key);
      if (held !== undefined) return held.session === session ? true : held;
      if (Number(this.#countOf.first(session)) >= this.most) throw new TooManyLocksError(this.most);
      const { host = null, address = null, userAgent = null } = origin ?? {};
      this.#add.run(dataclass, this.#compared(key), session, host, address, userAgent);
      this.#changed();
      return true;
    });
  }

  unlock(dataclass: string, key: string | number, session: string | undefined): true | Lock {
    return this.sharing.state.change(() => {
      const held = this.holderOf(dataclass, key);
      if (held === undefined) return true;
      if (held.session !== session) return held;
      this.#remove.run(dataclass, held.key);
      this.#changed();
      return true;
    });
  }

  holderOf(dataclass: string, key: string | number): Lock | undefined {
    const row = this.#find.first(dataclass, this.#compared(key));
    return row === undefined ? undefined : lockOf(row as Row);
  }

  refusal(dataclass: string, key: string | number, session: string | undefined): Lock | undefined {
    if (this.size === 0) return undefined;
    const held = this.holderOf(dataclass, key);
    return held?.session === session ? undefined : held;
  }

  lockedByOthers(dataclass: string, session: string | undefined): readonly Lock[] {
    return this.locksOf(dataclass).filter((lock) => lock.session !== session);
  }

  locksOf(dataclass: string): readonly Lock[] {
    if (this.size === 0) return [];
    return (this.#ofDataclass.all(dataclass) as readonly Row[]).map(lockOf);
  }

  forget(dataclass: string, keys: Iterable<string | number>): void {
    if (this.size === 0) return;
    this.sharing.state.change(() => {
      let removed = 0;
      for (const key of keys) removed += this.#remove.run(dataclass, this.#compared(key));
      if (removed > 0) this.#changed();
    });
  }

  releaseAll(session: string): void {
    if (this.size === 0) return;
    this.sharing.state.change(() => {
      if (this.#removeOf.run(session) > 0) this.#changed();
    });
  }

  moveAll(from: string, to: string): void {
    if (this.size === 0) return;
    this.sharing.state.change(() => this.#move.run(to, from));
  }

  #compared(key: string | number): string | number {
    return typeof key === 'string' ? this.fold(key) : key;
  }

  #changed(): void {
    const { state, generations } = this.sharing;
    state.afterwards(() => {
      generations.raise('lock', '');
    });
  }
}

function lockOf([key, session, host, address, userAgent]: Row): Lock {
  const origin =
    host === null ? undefined : { host, address: address ?? '', userAgent: userAgent ?? '' };
  return { key, session, origin };
}
