import type { SessionStorage } from '../access/session.js';
import type { StateStatement } from '../dialect/state-database.js';
import { jsonOf } from '../protocol/plain-json.js';

/** A name is part of an index, whose entries PostgreSQL limits. */
const longestName = 400;

/**
 * The storage of one session as JSON. A value is parsed once, and is then the same object for all
 * requests of this process. Changes that code makes inside it are found when the session is stored. If two servers set a value of one name, the last one wins.
 */
export class StoredValues implements SessionStorage {
  /** Texts by names, in the order of the names: those of the database, with the changes that it does not have yet. */
  #texts = new Map<string, string>();
  /** Objects that code has. */
  readonly #held = new Map<string, object>();
  /** Changes that are not stored yet; `undefined` for a removed value. */
  #changes = new Map<string, string | undefined>();

  /** @param changed called when there is something to store */
  constructor(private readonly changed: () => void) {}

  get size(): number {
    return this.#texts.size;
  }

  get(name: string): unknown {
    const text = this.#texts.get(name);
    if (text === undefined) return undefined;
    const known = this.#held.get(name);
    if (known !== undefined) return known;
    const value = JSON.parse(text) as unknown;
    this.#hold(name, value);
    return value;
  }

  has(name: string): boolean {
    return this.#texts.has(name);
  }

  /** @throws TypeError for a value that JSON cannot hold */
  set(name: string, value: unknown): void {
    if (name.length > longestName) {
      throw new TypeError(
        `The name of a value of a session's storage has at most ${longestName} characters.`,
      );
    }
    this.#change(name, this.#textOf(name, value));
    this.#hold(name, value);
  }

  delete(name: string): boolean {
    const isThere = this.#texts.delete(name);
    if (!isThere) return false;
    this.#held.delete(name);
    this.#changes.set(name, undefined);
    this.changed();
    return true;
  }

  clear(): void {
    for (const name of this.keys()) this.delete(name);
  }

  keys(): readonly string[] {
    return [...this.#texts.keys()];
  }

  /** What the texts take, in characters. */
  get length(): number {
    let all = 0;
    for (const [name, text] of this.#texts) all += name.length + text.length;
    return all;
  }

  /**
   * Notes what code has changed inside of values.
   * @throws TypeError for what JSON cannot hold
   */
  compare(): void {
    for (const [name, value] of this.#held) {
      try {
        const text = this.#textOf(name, value);
        if (text !== this.#texts.get(name)) this.#change(name, text);
      } catch (error) {
        // What was stored before stays.
        this.#held.delete(name);
        throw error;
      }
    }
  }

  /** Takes over what another server has stored; changes of this one stay. */
  fill(rows: readonly (readonly [name: string, text: string])[]): void {
    this.compare();
    const before = this.#texts;
    this.#texts = new Map(rows);
    for (const [name, text] of this.#changes) {
      if (text === undefined) this.#texts.delete(name);
      else this.#texts.set(name, text);
    }
    for (const name of this.#held.keys()) {
      if (this.#texts.get(name) !== before.get(name)) this.#held.delete(name);
    }
  }

  /** Takes over all of another session, whose rows get this session. */
  takeOver(other: StoredValues): void {
    this.#texts = other.#texts;
    this.#changes = other.#changes;
    for (const [name, value] of other.#held) this.#held.set(name, value);
    other.#texts = new Map();
    other.#changes = new Map();
    other.#held.clear();
  }

  /** What to store; it counts as stored then. */
  takeChanges(session: string): readonly StateStatement[] {
    if (this.#changes.size === 0) return [];
    const changes = this.#changes;
    this.#changes = new Map();
    return [...changes].map(([name, text]) =>
      text === undefined
        ? [removal, session, JSON.stringify(name)]
        : [storing, session, JSON.stringify(name), text],
    );
  }

  get hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  #textOf(name: string, value: unknown): string {
    return jsonOf(value, `The value ${JSON.stringify(name)} of a session's storage`);
  }

  #change(name: string, text: string): void {
    this.#texts.set(name, text);
    this.#changes.set(name, text);
    this.changed();
  }

  #hold(name: string, value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#held.set(name, value);
    else this.#held.delete(name);
  }
}

const removal = 'delete from drs_state.stored where session = $1 and name = $2';

/** Nothing for a session that has ended. */
const storing = `insert into drs_state.stored (session, name, value, position)
  select id, cast($2 as text), cast($3 as text),
    coalesce((select max(position) from drs_state.stored where session = $1), 0) + 1
  from drs_state.session where id = $1
  on conflict (session, name) do update set value = excluded.value`;
