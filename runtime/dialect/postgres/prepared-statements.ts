/** A statement that a connection keeps prepared. */
export interface Prepared {
  /** Its name on the connection; empty for one that is prepared for a single run. */
  readonly name: string;
  /** Whether the database has it already. */
  isKnown: boolean;
  /** What it gives, once that was told; none for a statement without rows. */
  columns: readonly Column[] | undefined;
}

/** A column of an answer. */
export interface Column {
  readonly name: string;
  /** The number of its type in PostgreSQL's catalog. */
  readonly dataTypeID: number;
}

/** Of one connection: a prepared statement takes up some ten kilobytes in the database's process, and more by its length. */
const mostStatements = 256;
const mostCharacters = 1024 * 1024;

/** Texts that were run once, of all connections; beyond these, the older half is forgotten. */
const mostSeen = 4_096;

/**
 * Texts that were asked for before, whatever the connection. What is run once is not worth keeping: clients can make filters
 * of ever new shape.
 */
export class SeenTexts {
  #young = new Set<string>();
  #old = new Set<string>();

  /** Whether a text was asked for before. */
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

/** The statements that one connection keeps prepared: those that were used last. */
export class PreparedStatements {
  readonly #byText = new Map<string, Prepared>();
  #forgotten: string[] = [];
  #characters = 0;
  #drawn = 0;

  constructor(private readonly seen: SeenTexts) {}

  /** The statement for a text. */
  get(text: string): Prepared {
    const known = this.#byText.get(text);
    if (known !== undefined) {
      // A map gives the entries in the order they were set: the first one was not used for longest.
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

  /** Forgets a statement that the database may have taken, or not. */
  drop(text: string, prepared: Prepared): void {
    if (this.#byText.get(text) === prepared) this.#forget(text, prepared);
  }

  /** Names that the database shall forget too, whether it knows them or not; each is told once. */
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
