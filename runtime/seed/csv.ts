/** A text that is not CSV. */
export class CsvError extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
    this.name = 'CsvError';
  }
}

interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * The records of a text in CSV (RFC 4180). Lines end with LF or CRLF; empty lines are ignored.
 * @param chunks the parts of the text, cut anywhere
 * @throws CsvError
 */
export async function* csvRecords(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let cells: string[] = [];
  let cell = '';
  // `closed`: behind a quote in a quoted cell, which ends the cell or is the first of two.
  let state: 'begin' | 'plain' | 'quoted' | 'closed' = 'begin';
  let isReturn = false;
  let line = 1;
  let first = 1;
  const isBlank = (): boolean => cells.length === 0 && state === 'begin';
  const record = (): CsvRecord => {
    const ended = { line: first, cells: [...cells, cell] };
    [cells, cell, state] = [[], '', 'begin'];
    return ended;
  };
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (isReturn && character !== '\n') throw new CsvError(line, 'a CR without LF is in quotes.');
      if (state === 'quoted') {
        if (character === '"') state = 'closed';
        else cell += character;
        if (character === '\n') line += 1;
      } else if (character === '\n') {
        if (!isBlank()) yield record();
        isReturn = false;
        line += 1;
        first = line;
      } else if (character === '\r') {
        isReturn = true;
      } else if (character === ',') {
        cells.push(cell);
        [cell, state] = ['', 'begin'];
      } else if (character === '"' && state !== 'plain') {
        if (state === 'closed') cell += '"';
        state = 'quoted';
      } else if (character === '"' || state === 'closed') {
        throw new CsvError(line, 'a cell that has a quote is in quotes, and the quote is doubled.');
      } else {
        cell += character;
        state = 'plain';
      }
    }
  }
  if (state === 'quoted') throw new CsvError(first, 'a quote of this record is not closed.');
  if (!isBlank()) yield record();
}
