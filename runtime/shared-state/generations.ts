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
const kinds = ['session', 'set', 'lock'] as const;

type Kind = (typeof kinds)[number];

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
  writeFileSync(own, new Uint8Array(kinds.length * slotsOfKind * 8), { mode: 0o600 });
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(own);
  }
}

function placeOf(kind: Kind, id: string): number {
  const slot = Number.parseInt(id.slice(0, 4), 16) || 0;
  return (kinds.indexOf(kind) * slotsOfKind + slot) * 8;
}
