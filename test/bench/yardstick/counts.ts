import type { Database } from 'better-sqlite3';

/**
 * Counts of employees and companies, cached until the data changes, because each page of a query
 * needs the same count. SQLite reports cheaply that another process has changed something; the
 * saves of this server are counted.
 */
export class Counts {
  readonly #version: () => number;
  #known = new Map<string, number>();
  #at = -1;

  constructor(database: Database) {
    const version = database.prepare<[], number>('pragma data_version').pluck();
    this.#version = () => version.get() ?? 0;
  }

  /** @param name name of the count, including the values of its filter */
  of(name: string, count: () => number | undefined): number {
    const version = this.#version();
    if (version !== this.#at || this.#known.size > most) {
      this.#known = new Map();
      this.#at = version;
    }
    let known = this.#known.get(name);
    if (known === undefined) this.#known.set(name, (known = count() ?? 0));
    return known;
  }

  forget(): void {
    this.#known = new Map();
  }
}

const most = 10_000;
