import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  readSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';

/** How many numbers each kind of object has: objects that share one are read again without need. */
const slotsOfKind = 65_536;
const firstSlots = { session: 0, set: slotsOfKind, lock: 2 * slotsOfKind } as const;
const slots = 3 * slotsOfKind;

type Kind = keyof typeof firstSlots;

/**
 * Numbers in a file that show whether something has changed since it was read: a look costs less
 * than a microsecond, while reading the object again costs several. No number ever repeats,
 * whichever process raises it.
 */
export class Generations {
  readonly #file: number;
  readonly #number = new Float64Array(1);
  readonly #bytes = new Uint8Array(this.#number.buffer);
  #last: number;

  /**
   * @param path of the file, which is created if it does not exist
   * @param process a number that no other process of the server has, or had; below 2^20
   */
  constructor(path: string, process: number) {
    if (!existsSync(path)) makeWhole(path, process);
    this.#file = openSync(path, constants.O_RDWR);
    this.#last = process * 2 ** 32;
  }

  /** @param id begins with four random hexadecimal digits; empty for the kind as a whole */
  of(kind: Kind, id: string): number {
    readSync(this.#file, this.#bytes, 0, 8, placeOf(kind, id));
    return this.#number[0] as number;
  }

  /** Call it when a change is visible. */
  raise(kind: Kind, id: string): void {
    this.#last += 1;
    this.#number[0] = this.#last;
    writeSync(this.#file, this.#bytes, 0, 8, placeOf(kind, id));
  }

  close(): void {
    closeSync(this.#file);
  }
}

/**
 * Allocates the space of all numbers, so that a full disk does not stop later ones; another process
 * may do so meanwhile.
 */
function makeWhole(path: string, process: number): void {
  const own = `${path}-${process}`;
  writeFileSync(own, new Uint8Array(slots * 8), { mode: 0o600 });
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(own);
  }
}

function placeOf(kind: Kind, id: string): number {
  let slot = 0;
  for (let at = 0; at < 4; at += 1) slot = slot * 16 + valueOf(id.charCodeAt(at));
  return (firstSlots[kind] + slot) * 8;
}

/** The value of a hexadecimal digit in any case; 0 behind the end of a text. */
function valueOf(code: number): number {
  return ((code & 15) + (code >> 6) * 9) & 15;
}
