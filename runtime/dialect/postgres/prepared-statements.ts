/** A prepared statement of a connection. */
export interface Prepared {
  /** Its name on the connection; empty for a statement that is prepared for a single run. */
  readonly name: string;
  /** Whether the database has prepared it. */
  isKnown: boolean;
  /** The columns of its result, once the database described them; absent for a statement without rows. */
  columns: readonly Column[] | undefined;
}

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** The type's number in PostgreSQL's catalog. */
  readonly dataTypeID: number;
}

/** Per connection: a prepared statement needs about ten kilobytes in the database's process, more if it is long. */
const mostStatements = 256;
const mostCharacters = 1024 * 1024;

/** Texts that ran once, over all connections; beyond this number, the older generation is dropped. */
const mostSeen = 4_096;

/**
 * Remembers texts over all connections. Only a text that runs a second time is prepared, because clients can send
 * filters of ever new shapes.
 */
export class SeenTexts {
  #young = new Set<string>();
  #old = new Set<string>();

  /** Whether a text was requested before. */
  has(text: string): boolean {
    if (this.#young.has(text)) return true;
    const isKnown = this.#old.has(text);
    if (this.#young.size * 2 >= mostSeen) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(text);
    return isKnown;
  }
}

/** The prepared statements of one connection; evicts the least recently used one. */
export class PreparedStatements {
  readonly #byText = new Map<string, Prepared>();
  #forgotten: string[] = [];
  #characters = 0;
  #drawn = 0;

  constructor(private readonly seen: SeenTexts) {}

  /** The prepared statement for a text. */
  get(text: string): Prepared {
    const known = this.#byText.get(text);
    if (known !== undefined) {
      // A map iterates in insertion order: deleting and setting moves the entry to the end.
      this.#byText.delete(text);
      this.#byText.set(text, known);
      return known;
    }
    const isKept = this.seen.has(text) && text.length * 8 <= mostCharacters;
    if (!isKept) return { name: '', isKnown: false, columns: undefined };
    this.#makeRoom(text.length);
    this.#drawn += 1;
    const prepared: Prepared = { name: `s${this.#drawn}`, isKnown: false, columns: undefined };
    this.#byText.set(text, prepared);
    this.#characters += text.length;
    return prepared;
  }

  /** Drops a statement that the database may or may not have prepared. */
  drop(text: string, prepared: Prepared): void {
    if (this.#byText.get(text) === prepared) this.#forget(text, prepared);
  }

  /** The names to deallocate, whether or not the database knows them; each is returned once. */
  takeForgotten(): readonly string[] {
    const forgotten = this.#forgotten;
    if (forgotten.length > 0) this.#forgotten = [];
    return forgotten;
  }

  #makeRoom(length: number): void {
    for (const [text, prepared] of this.#byText) {
      const isRoom =
        this.#byText.size < mostStatements && this.#characters + length <= mostCharacters;
      if (isRoom) return;
      this.#forget(text, prepared);
    }
  }

  #forget(text: string, { name }: Prepared): void {
    this.#byText.delete(text);
    this.#characters -= text.length;
    this.#forgotten.push(name);
  }
}
