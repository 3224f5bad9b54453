import { randomInt } from 'node:crypto';
import type { KeyList } from '../entity-set/key-list.js';
import type { StateDatabase, StateStatement } from './state-database.js';
import { NumberKeys } from '../entity-set/number-keys.js';
import { TextKeys } from '../entity-set/text-keys.js';
import { UuidKeys } from '../entity-set/uuid-keys.js';

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
  /**
   * The format of the bytes: `integer:4`, `integer:8`, `number:4`, `number:8`, `uuid`, `string`.
   */
  readonly format: string;
  readonly content: Uint8Array;
  readonly length: number;
}

function storedKeys(keys: KeyList): StoredKeys {
  const { length } = keys;
  if (keys instanceof NumberKeys) {
    const { type, values } = keys;
    return { format: `${type}:${values.BYTES_PER_ELEMENT}`, content: bytesOf(values), length };
  }
  if (keys instanceof UuidKeys) return { format: 'uuid', content: bytesOf(keys.words), length };
  if (keys instanceof TextKeys) {
    const content = Buffer.concat([bytesOf(keys.starts), keys.bytes]);
    return { format: 'string', content, length };
  }
  throw new TypeError(`Keys of type ${keys.type} cannot be shared by processes.`);
}

/** @throws Error for an unknown format */
function keysFrom({ format, content, length }: StoredKeys): KeyList {
  // Typed arrays need an offset that is a multiple of their element size.
  const bytes = new Uint8Array(content);
  const numbers = new Uint32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
  switch (format) {
    case 'integer:4':
      return new NumberKeys('integer', numbers);
    case 'number:4':
      return new NumberKeys('number', numbers);
    case 'integer:8':
      return new NumberKeys('integer', new Float64Array(bytes.buffer));
    case 'number:8':
      return new NumberKeys('number', new Float64Array(bytes.buffer));
    case 'uuid':
      return new UuidKeys(numbers);
    case 'string': {
      const starts = numbers.slice(0, length + 1);
      return new TextKeys(Buffer.from(bytes.subarray(starts.byteLength)), starts);
    }
    default:
      throw new Error(`There are no keys of the format ${format}.`);
  }
}

function bytesOf(values: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
