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

/** How many numbers each kind of thing has: things with the same one are looked at again without need. */
const slotsOfKind = 65_536;
const firstSlots = { session: 0, set: slotsOfKind, lock: 2 * slotsOfKind } as const;
const slots = 3 * slotsOfKind;

type Kind = keyof typeof firstSlots;

/**
 * Numbers in a file that tell whether something has changed since it was read: a look costs less than a microsecond, where
 * to read the thing again costs several. A number is never the same again, whoever raises it.
 */
export class Generations {
  readonly #file: number;
  readonly #number = new Float64Array(1);
  readonly #bytes = new Uint8Array(this.#number.buffer);
  #last: number;

  /**
   * @param path of the file, which is made where it is not there
   * @param process a number that no other process of the server has, or had; below 2^20
   */
  constructor(path: string, process: number) {
    if (!existsSync(path)) makeWhole(path, process);
    this.#file = openSync(path, constants.O_RDWR);
    this.#last = process * 2 ** 32;
  }

  /** @param id whose first four digits, hexadecimal ones, are drawn by chance; empty for the kind as a whole */
  of(kind: Kind, id: string): number {
    readSync(this.#file, this.#bytes, 0, 8, placeOf(kind, id));
    return this.#number[0] as number;
  }

  /** To be called when a change can be seen. */
  raise(kind: Kind, id: string): void {
    this.#last += 1;
    this.#number[0] = this.#last;
    writeSync(this.#file, this.#bytes, 0, 8, placeOf(kind, id));
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Takes the space of all numbers, so that a disk that is full by then refuses none; another process may do so meanwhile. */
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

/** Of a hexadecimal digit, whatever its case; 0 behind the end of a text. */
function valueOf(code: number): number {
  return ((code & 15) + (code >> 6) * 9) & 15;
}
