import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CsvParser, csvRow, guarded, unguarded } from '../../runtime/explorer/csv.js';
import { sampled } from '../support/long.js';

/** Reads a text in pieces of a length. */
function rowsOf(text: string, length = text.length): readonly (readonly string[])[] {
  const parser = new CsvParser();
  const rows: (readonly string[])[] = [];
  for (let at = 0; at < text.length; at += length) {
    rows.push(...parser.push(text.slice(at, at + length)));
  }
  return [...rows, ...parser.end()];
}

const cell = fc.string({
  unit: fc.constantFrom('a', 'é', '"', ',', ';', '\t', '\r', '\n', ' ', "'", '=', '😀'),
});

describe('CSV of the explorer', () => {
  it('is read as csv-parse reads it, in pieces of any length', () => {
    const row = fc.array(cell, { minLength: 2, maxLength: 4 });
    const separators = fc.constantFrom(',', ';', '\t');
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    const inputs = fc.record({
      rows: fc.array(row, { maxLength: 5 }),
      separator: separators,
      end: ends,
      isEnded: fc.boolean(),
      mark: fc.constantFrom('', '\uFEFF'),
      length: fc.integer({ min: 1, max: 7 }),
    });
    fc.assert(
      fc.property(inputs, ({ rows, separator, end, isEnded, mark, length }) => {
        const lines = [['one', 'two'], ...rows].map((cells) =>
          cells
            .map((each) => (/["\r\n,;\t]/.test(each) ? `"${each.replaceAll('"', '""')}"` : each))
            .join(separator),
        );
        const text = mark + lines.join(end) + (isEnded ? end : '');
        const expected: string[][] = parse(text, {
          bom: true,
          delimiter: separator,
          record_delimiter: ['\r\n', '\n', '\r'],
          relax_column_count: true,
        });
        expect(rowsOf(text, length)).toEqual(expected);
      }),
      { numRuns: sampled(2000) },
    );
  });

  it('is read as it was written, also what begins as a formula', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), (cells) => {
        const text = csvRow(['head', 'tail']) + csvRow(cells.map(guarded));
        expect(rowsOf(text)[1]?.map(unguarded)).toEqual(cells);
      }),
      { numRuns: sampled(2000) },
    );
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', "'=1", '＝1'])(
    'has a mark before what a spreadsheet would compute: %j',
    (formula) => {
      expect(guarded(formula)).toBe(`'${formula}`);
      expect(unguarded(`'${formula}`)).toBe(formula);
    },
  );

  it.each(["it's", "'tis", 'a=b', ''])('leaves other texts as they are: %j', (text) => {
    expect([guarded(text), unguarded(text)]).toEqual([text, text]);
  });

  it.each([
    ['a,b\n"x', 'Row 2: a quote is not closed.'],
    ['a,b\n1,2\nx"y,1', 'Row 3: a quote stands inside of a value without quotes.'],
    ['a,b\n"x"y,1', 'Row 2: a value goes on behind its closing quote.'],
  ])('says where %j is wrong', (text, message) => {
    expect(() => rowsOf(text)).toThrow(message);
  });

  it('takes the most frequent sign of the heads for the separator', () => {
    expect(rowsOf('a;"b,c,d";e\n1,5;2;3')).toEqual([
      ['a', 'b,c,d', 'e'],
      ['1,5', '2', '3'],
    ]);
    expect(rowsOf('one')).toEqual([['one']]);
    expect(rowsOf('')).toEqual([]);
  });
});
