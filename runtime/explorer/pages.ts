import { type Row, pageSize, type Rows } from './server.js';

/** Pages that are kept: enough to scroll back and forth. */
const mostPages = 40;

/**
 * The rows of a selection by their positions. It reads the pages that are looked at, one after the
 * other: while somebody scrolls fast, those that they pass are never read.
 */
export class Pages {
  /** By their numbers, in the order in which they were read. */
  #pages = new Map<number, readonly Row[]>();
  /** What is shown until it is read again. */
  #before: ReadonlyMap<number, readonly Row[]> = new Map();
  #wanted: readonly number[] = [];
  #isReading = false;

  /**
   * @param signal ends the reading
   * @param changed called when rows have arrived, and with an error if they do not
   */
  constructor(
    private rows: Rows,
    private readonly signal: AbortSignal,
    private readonly changed: (error?: unknown) => void,
  ) {}

  /** The row at a position: `undefined` if it was not read yet, `null` if its entity was deleted meanwhile. */
  at(position: number): Row | null | undefined {
    const number = Math.floor(position / pageSize);
    const page = this.#pages.get(number) ?? this.#before.get(number);
    return page === undefined ? undefined : (page[position % pageSize] ?? null);
  }

  /** Reads the rows between two positions, if they are not there. */
  want(first: number, last: number): void {
    const from = Math.floor(first / pageSize);
    const to = Math.floor(last / pageSize);
    this.#wanted = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    if (!this.#isReading) void this.#read();
  }

  /**
   * Reads the rows again that are looked at.
   * @param rows other ones in their place
   */
  renew(rows = this.rows): void {
    this.rows = rows;
    this.#before = new Map([...this.#before, ...this.#pages]);
    // What is being read now may be older than what made the pages old.
    this.#pages = new Map();
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    const { signal } = this;
    this.#isReading = true;
    try {
      for (;;) {
        const number = this.#wanted.find((each) => !this.#pages.has(each));
        if (number === undefined) {
          this.#before = new Map();
          return;
        }
        const start = number * pageSize;
        const pages = this.#pages;
        const rows = await this.rows
          .slice(start, start + pageSize, { signal })
          .catch((error: unknown) => {
            // Rows that others replace may be gone.
            if (pages === this.#pages) throw error;
          });
        if (rows === undefined || pages !== this.#pages) continue;
        this.#keep(number, rows);
        this.changed();
      }
    } catch (error) {
      this.#wanted = [];
      if (!signal.aborted) this.changed(error);
    } finally {
      this.#isReading = false;
    }
  }

  #keep(number: number, rows: readonly Row[]): void {
    this.#pages.set(number, rows);
    for (const each of this.#pages.keys()) {
      if (this.#pages.size <= mostPages) return;
      if (!this.#wanted.includes(each)) this.#pages.delete(each);
    }
  }
}
