import { randomInt } from 'node:crypto';
import { type KeyList, NumberKeys, TextKeys } from '../entity-set/key-list.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/**
 * The lists of keys of the sets of all processes; a list that several sets share is stored once. A
 * list never changes, so a process caches those that it used last.
 */
export class KeyTable {
  readonly #find: StateStatement;
  readonly #add: StateStatement;
  readonly #hold: StateStatement;
  readonly #letGo: StateStatement;
  readonly #remove: StateStatement;
  readonly #ids = new WeakMap<KeyList, number>();
  /** Cached lists; the most recently used one is last. */
  readonly #atHand = new Map<number, KeyList>();
  #bytesAtHand = 0;

  /** @param mostAtHand bytes of the cached lists; a larger list is cached alone */
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

  /** @returns `undefined` if no set holds it any more */
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

  /** Whether a set holds the list already. Call this and the following methods inside a change. */
  isHeld(keys: KeyList): boolean {
    const id = this.#ids.get(keys);
    return id !== undefined && this.#find.first(id) !== undefined;
  }

  /** @returns the ID of the list */
  hold(keys: KeyList): number {
    const known = this.#ids.get(keys);
    if (known !== undefined && this.#hold.run(known) > 0) return known;
    const { format, content, length } = storedKeys(keys);
    // Never an earlier ID: processes would use the cached list of the earlier one.
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

/** A list of keys as bytes, for processes of one machine. */
interface StoredKeys {
  /** `integer:4`, `integer:8` and `number:8` for numbers of so many bytes; `uuid` and `string` for JSON. */
  readonly format: string;
  readonly content: Uint8Array;
  readonly length: number;
}

function storedKeys(keys: KeyList): StoredKeys {
  const { type, length } = keys;
  if (!(keys instanceof NumberKeys)) {
    return { format: type, content: Buffer.from(keys.page(0, length)), length };
  }
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: size } = keys.values;
  const content = new Uint8Array(buffer, byteOffset, byteLength);
  return { format: `${type}:${size}`, content, length };
}

/** @throws Error for an unknown format */
function keysFrom({ format, content }: StoredKeys): KeyList {
  switch (format) {
    case 'integer:4':
      return new NumberKeys('integer', new Uint32Array(ownBuffer(content)));
    case 'integer:8':
      return new NumberKeys('integer', new Float64Array(ownBuffer(content)));
    case 'number:8':
      return new NumberKeys('number', new Float64Array(ownBuffer(content)));
    case 'uuid':
    case 'string':
      return new TextKeys(format, JSON.parse(Buffer.from(content).toString('utf8')) as string[]);
    default:
      throw new Error(`There are no keys of the format ${format}.`);
  }
}

/** Typed arrays need an offset that is a multiple of their element size. */
function ownBuffer(content: Uint8Array): ArrayBuffer {
  return new Uint8Array(content).buffer;
}
