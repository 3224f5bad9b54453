import { randomInt } from 'node:crypto';
import type { KeyList } from '../entity-set/key-list.js';
import type { StateDatabase, StateStatement } from './state-database.js';
import { keysFrom, storedKeys } from './stored-keys.js';

/**
 * The lists of keys that the sets of all processes hold; one that several sets hold is there once. A list never changes, so a
 * process keeps those that it used last.
 */
export class KeyTable {
  readonly #find: StateStatement;
  readonly #add: StateStatement;
  readonly #hold: StateStatement;
  readonly #letGo: StateStatement;
  readonly #remove: StateStatement;
  readonly #ids = new WeakMap<KeyList, number>();
  /** The one that was used last at the end. */
  readonly #atHand = new Map<number, KeyList>();
  #bytesAtHand = 0;

  /** @param mostAtHand bytes of the lists that this process keeps; one that is larger is kept alone */
  constructor(
    state: StateDatabase,
    private readonly mostAtHand: number,
  ) {
    this.#find = state.prepare('select "type", "content", "length" from "keys" where "id" = ?');
    this.#add = state.prepare(
      'insert into "keys" ("id", "type", "content", "length", "bytes", "holders") values (?, ?, ?, ?, ?, 1)',
    );
    this.#hold = state.prepare('update "keys" set "holders" = "holders" + 1 where "id" = ?');
    this.#letGo = state.prepare('update "keys" set "holders" = "holders" - 1 where "id" = ?');
    this.#remove = state.prepare('delete from "keys" where "id" = ? and "holders" <= 0');
  }

  /** @returns `undefined` when no set holds it any more */
  get(id: number): KeyList | undefined {
    const known = this.#atHand.get(id);
    if (known !== undefined) {
      this.#atHand.delete(id);
      this.#atHand.set(id, known);
      return known;
    }
    const row = this.#find.first(id);
    if (row === undefined) return undefined;
    const [format, content, length] = row as readonly [string, Uint8Array, number];
    const keys = keysFrom({ format, content, length });
    this.#keepAtHand(id, keys);
    return keys;
  }

  /** Whether a set holds the list already; to be called within a change, as the following. */
  isHeld(keys: KeyList): boolean {
    const id = this.#ids.get(keys);
    return id !== undefined && this.#find.first(id) !== undefined;
  }

  /** @returns what the list is found by */
  hold(keys: KeyList): number {
    const known = this.#ids.get(keys);
    if (known !== undefined && this.#hold.run(known) > 0) return known;
    const { format, content, length } = storedKeys(keys);
    // Never one that was there before: what a process has at hand would be taken for it.
    const id = randomInt(2 ** 48 - 1);
    this.#add.run(id, format, content, length, keys.byteLength);
    this.#keepAtHand(id, keys);
    return id;
  }

  letGo(id: number): void {
    this.#letGo.run(id);
    if (this.#remove.run(id) > 0) this.#drop(id);
  }

  #keepAtHand(id: number, keys: KeyList): void {
    this.#ids.set(keys, id);
    this.#atHand.set(id, keys);
    this.#bytesAtHand += keys.byteLength;
    for (const [oldest] of this.#atHand) {
      if (this.#bytesAtHand <= this.mostAtHand || oldest === id) return;
      this.#drop(oldest);
    }
  }

  #drop(id: number): void {
    const keys = this.#atHand.get(id);
    if (keys === undefined) return;
    this.#atHand.delete(id);
    this.#bytesAtHand -= keys.byteLength;
  }
}
