/** A dataclass, as far as it concerns the names of tables. */
interface Table {
  readonly table: string;
  readonly restriction?: object | undefined;
}

/** Returns table names that are unique in one statement. */
export class Aliases {
  #count = 0;
  readonly #kept = new Set<string>();
  /** How often the statement reads each table. */
  readonly #tables = new Map<string, number>();
  #readsRestricted = false;

  /** @param prefix of the names */
  constructor(private readonly prefix = 't') {}

  next(): string {
    this.#count += 1;
    const alias = `${this.prefix}${this.#count}`;
    return this.#kept.has(alias) ? this.next() : alias;
  }

  /** Whether no table of the statement has got a name. */
  get areNone(): boolean {
    return this.#count === 0;
  }

  /** Notes that the statement reads a dataclass. */
  reads({ table: name, restriction }: Table): void {
    this.#tables.set(name, (this.#tables.get(name) ?? 0) + 1);
    this.#readsRestricted ||= restriction !== undefined;
  }

  /**
   * The tables of the dataclasses that the statement reads so far; `undefined` if restrictions may
   * read others.
   */
  get tables(): ReadonlySet<string> | undefined {
    return this.#readsRestricted ? undefined : new Set(this.#tables.keys());
  }

  /** In how many places the statement reads the table of a dataclass. */
  readsOf({ table: name }: Table): number {
    return this.#tables.get(name) ?? 0;
  }

  /** Reserves the name of a table that has no alias in the statement. */
  keep(table: string): string {
    this.#kept.add(table.toLowerCase());
    return table;
  }
}
