import { pipeline } from 'node:stream';
import type { CsvError as ParserError } from 'csv-parse';
import { separatorOf } from '../protocol/csv-separator.js';

/** A text that is not CSV, or larger than a row may be. */
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
  readonly separator: ReturnType<typeof separatorOf>;
}

const mebibytes = 16;

/**
 * The records of a text in CSV (RFC 4180). Lines end with LF, CRLF or CR; empty lines are ignored.
 * @param text the parts of the text, cut anywhere; the first one shows the separator
 * @throws CsvError
 */
export async function* csvRecords(text: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  // A server that starts needs no parser.
  const csv = await import('csv-parse');
  // The parser counts a CRLF in quotes as two lines.
  let line = 1;
  const lines: number[] = [];
  const parts = text[Symbol.asyncIterator]();
  const first = await parts.next();
  const head = first.done === true ? '' : first.value;
  const separator = separatorOf(head);
  const parser = csv.parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: mebibytes * 1024 * 1024,
    on_record: (cells: string[], { empty_lines: emptyLines }) => {
      lines.push(line + emptyLines);
      line += cells.reduce((sum, cell) => sum + lineEnds(cell), 1);
      return cells;
    },
  });
  // The iteration below gets the errors of both.
  pipeline(behind(head, parts), parser, () => undefined);
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      yield { line: lines.shift() ?? line, cells, separator };
    }
  } catch (error) {
    if (!(error instanceof csv.CsvError)) throw error;
    throw new CsvError(line + parser.info.empty_lines, reasonOf(error));
  }
}

async function* behind(head: string, parts: AsyncIterator<string>): AsyncGenerator<string> {
  yield head;
  yield* { [Symbol.asyncIterator]: () => parts };
}

function lineEnds(cell: string): number {
  return /[\r\n]/.test(cell) ? cell.split(/\r\n|\n|\r/).length - 1 : 0;
}

function reasonOf({ code, column, message }: ParserError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote of this record is not closed.';
  if (code === 'CSV_INVALID_CLOSING_QUOTE' || code === 'INVALID_OPENING_QUOTE') {
    return 'a cell that has a quote is in quotes, and the quote is doubled.';
  }
  if (code !== 'CSV_MAX_RECORD_SIZE') return message;
  return `this record is larger than ${mebibytes} MiB in its cell ${Number(column) + 1}. Close the quotes, or write it in a JSON file.`;
}
