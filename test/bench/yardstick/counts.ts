import type { Database } from 'better-sqlite3';

/**
 * Numbers of employees and companies, remembered until the data changes: whoever goes through pages asks for the same number
 * at each of them. SQLite tells cheaply that somebody else has changed something; this server's own saves are counted.
 */
export class Counts {
  readonly #version: () => number;
  #known = new Map<string, number>();
  #at = -1;

  constructor(database: Database) {
    const version = database.prepare<[], number>('pragma data_version').pluck();
    this.#version = () => version.get() ?? 0;
  }

  /** @param name of what is counted, the values of its filter included */
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
