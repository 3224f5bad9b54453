/** Separators that a file may have; the head of the file says which one. */
const separators = [',', ';', '\t'] as const;

/** A quote that nobody closes makes the rest of the file one row. */
const longestRow = 16_000_000;
const longestHead = 1_000_000;

/** A text is no CSV; the message says at which row, and why. */
export class CsvWrong extends Error {
  constructor(row: number, problem: string) {
    super(`Row ${row}: ${problem}.`);
  }
}

/**
 * Reads CSV (RFC 4180) from pieces of a text. Its separator is the most frequent one of `,`, `;` and
 * tab in the first row.
 */
export class CsvParser {
  #separator: string | undefined;
  /** The beginning of the text, until its separator is known. */
  #head = '';
  #row: string[] = [];
  #cell = '';
  #length = 0;
  #count = 0;
  #state: 'start' | 'bare' | 'quoted' | 'closed' = 'start';
  #isAfterReturn = false;

  /**
   * Yields the rows that end in this piece.
   * @throws CsvWrong
   */
  *push(text: string): Generator<readonly string[], void> {
    if (this.#separator !== undefined) {
      yield* this.#read(text, this.#separator);
      return;
    }
    this.#head += text;
    const counts = headCounts(this.#head);
    if (counts !== undefined) yield* this.#begin(counts);
    else if (this.#head.length > longestHead) throw this.#wrong('it is too long');
  }

  /**
   * Yields the last row, if no line end stands behind it.
   * @throws CsvWrong
   */
  *end(): Generator<readonly string[], void> {
    if (this.#separator === undefined) yield* this.#begin(headCounts(`${this.#head}\n`) ?? []);
    if (this.#state === 'quoted') throw this.#wrong('a quote is not closed');
    if (this.#row.length > 0 || this.#state !== 'start') yield this.#endRow();
  }

  #begin(counts: readonly number[]): Generator<readonly string[], void> {
    this.#separator = separators[counts.indexOf(Math.max(...counts))] ?? ',';
    return this.#read(this.#head.replace(/^\uFEFF/, ''), this.#separator);
  }

  *#read(text: string, separator: string): Generator<readonly string[], void> {
    for (const character of text) {
      const isAfterReturn = this.#isAfterReturn;
      this.#isAfterReturn = false;
      if (this.#state === 'quoted') {
        if (character === '"') this.#state = 'closed';
        else this.#add(character);
      } else if (character === separator) this.#endCell();
      else if (character === '\r') {
        this.#isAfterReturn = true;
        yield this.#endRow();
      } else if (character === '\n') {
        if (!isAfterReturn) yield this.#endRow();
      } else if (character === '"') {
        if (this.#state === 'bare') {
          throw this.#wrong('a quote stands inside of a value without quotes');
        }
        if (this.#state === 'closed') this.#add(character);
        this.#state = 'quoted';
      } else {
        if (this.#state === 'closed') throw this.#wrong('a value goes on behind its closing quote');
        this.#state = 'bare';
        this.#add(character);
      }
    }
  }

  #add(character: string): void {
    this.#cell += character;
    this.#length += 1;
    if (this.#length > longestRow) throw this.#wrong('it is too long, or a quote is not closed');
  }

  #endCell(): void {
    this.#row.push(this.#cell);
    this.#cell = '';
    this.#state = 'start';
  }

  #endRow(): readonly string[] {
    this.#endCell();
    const row = this.#row;
    this.#row = [];
    this.#length = 0;
    this.#count += 1;
    return row;
  }

  #wrong(problem: string): CsvWrong {
    return new CsvWrong(this.#count + 1, problem);
  }
}

/** How often each separator stands in the first row; `undefined` if that does not end in the text. */
function headCounts(text: string): readonly number[] | undefined {
  let isQuoted = false;
  const counts = separators.map(() => 0);
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === '\n' || character === '\r') return counts;
    const at = (separators as readonly string[]).indexOf(character);
    if (at >= 0) counts[at] = (counts[at] ?? 0) + 1;
  }
  return undefined;
}

/** A row as RFC 4180 writes it, with its line end. */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(text: string): string {
  // Some programs cut spaces off, or take `'` for a quote.
  return /^[\s']|[",;\t\r\n]|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What spreadsheets take for the beginning of a formula (OWASP, CSV injection). */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** A text that no spreadsheet runs as a formula: a `'` stands in front of what begins as one. */
export function guarded(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** The text that `guarded` was given. */
export function unguarded(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text;
}
