import { deserialize, serialize } from 'node:v8';
import type { SessionStorage } from '../access/session.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/** The values in the storages of sessions. */
export class StoredValues {
  readonly find: StateStatement;
  readonly names: StateStatement;
  readonly #set: StateStatement;
  readonly #remove: StateStatement;
  readonly #clear: StateStatement;
  readonly #move: StateStatement;
  readonly #isAlive: StateStatement;

  constructor(readonly state: StateDatabase) {
    const next = '(select coalesce(max("position"), 0) + 1 from "stored" where "session" = ?1)';
    this.find = state.prepare('select "value" from "stored" where "session" = ? and "name" = ?');
    this.names = state.prepare(
      'select "name" from "stored" where "session" = ? order by "position"',
    );
    this.#set = state.prepare(
      `insert into "stored" values (?1, ?2, ?3, ${next})
       on conflict ("session", "name") do update set "value" = ?3`,
    );
    this.#remove = state.prepare('delete from "stored" where "session" = ? and "name" = ?');
    this.#clear = state.prepare('delete from "stored" where "session" = ?');
    this.#move = state.prepare('update "stored" set "session" = ? where "session" = ?');
    this.#isAlive = state.prepare('select 1 from "session" where "id" = ?');
  }

  /** Stores nothing for a session that has ended. */
  set(session: string, name: string, bytes: Buffer): void {
    this.state.change(() => {
      if (this.#isAlive.first(session) !== undefined) this.#set.run(session, name, bytes);
    });
  }

  remove(session: string, name: string): boolean {
    return this.state.change(() => this.#remove.run(session, name)) > 0;
  }

  clear(session: string): void {
    this.state.change(() => this.#clear.run(session));
  }

  move(from: string, to: string): void {
    this.state.change(() => this.#move.run(to, from));
  }
}

/** A value as code of this process has it, and as it was when it was read or written. */
interface Seen {
  bytes: Buffer;
  /** The object that code got, until its changes are written. */
  held: object | undefined;
  readonly value: WeakRef<object>;
}

/**
 * The storage of one session, for all processes. Values are copied as `structuredClone` copies. If
 * two processes set a value of one name, the last one wins.
 */
export class SharedStorage implements SessionStorage {
  readonly #seen = new Map<string, Seen>();

  constructor(
    private readonly values: StoredValues,
    private readonly session: string,
  ) {}

  get size(): number {
    return this.keys().length;
  }

  get(name: string): unknown {
    const bytes = this.values.find.first(this.session, name) as Buffer | undefined;
    if (bytes === undefined) {
      this.#seen.delete(name);
      return undefined;
    }
    const seen = this.#seen.get(name);
    if (seen?.bytes.equals(bytes) === true) {
      const known = seen.value.deref();
      if (known !== undefined) {
        seen.held = known;
        return known;
      }
    }
    return this.#see(name, bytes, deserialize(bytes));
  }

  has(name: string): boolean {
    return this.values.find.first(this.session, name) !== undefined;
  }

  /**
   * @throws TypeError for a value that contains code, which cannot be shared with other processes
   */
  set(name: string, value: unknown): void {
    const bytes = bytesOf(name, value);
    this.values.set(this.session, name, bytes);
    this.#see(name, bytes, value);
  }

  delete(name: string): boolean {
    this.#seen.delete(name);
    return this.values.remove(this.session, name);
  }

  clear(): void {
    this.#seen.clear();
    this.values.clear(this.session);
  }

  keys(): readonly string[] {
    return this.values.names.all(this.session) as readonly string[];
  }

  /**
   * Writes changes that code made inside values that it got. Call it before the client is answered.
   */
  save(): void {
    for (const [name, seen] of this.#seen) {
      const { held } = seen;
      if (held === undefined) {
        if (seen.value.deref() === undefined) this.#seen.delete(name);
        continue;
      }
      seen.held = undefined;
      const bytes = bytesOf(name, held);
      if (bytes.equals(seen.bytes)) continue;
      seen.bytes = bytes;
      this.values.set(this.session, name, bytes);
    }
  }

  #see(name: string, bytes: Buffer, value: unknown): unknown {
    if (typeof value === 'object' && value !== null) {
      this.#seen.set(name, { bytes, held: value, value: new WeakRef(value) });
    } else {
      this.#seen.delete(name);
    }
    return value;
  }
}

function bytesOf(name: string, value: unknown): Buffer {
  try {
    return serialize(value);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(
      `The value ${JSON.stringify(name)} of a session's storage cannot be shared by the processes of the server: ${reason}`,
      { cause: error },
    );
  }
}
