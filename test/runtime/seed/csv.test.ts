import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvRecords } from '../../../runtime/seed/csv.js';

/** The text in pieces of random lengths. */
async function* pieces(text: string, lengths: readonly number[]): AsyncGenerator<string> {
  const characters = Array.from(text);
  for (let at = 0, index = 0; at < characters.length; index += 1) {
    const length = lengths[index % lengths.length] ?? 1;
    yield await Promise.resolve(characters.slice(at, at + length).join(''));
    at += length;
  }
}

const cell = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ', ',', '"', '\n', '\r\n', ';') });
const quoted = (text: string, isQuoted: boolean): string =>
  isQuoted || /[,;"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

it('The records of a CSV text are those that csv-parse reads, with the lines on which they begin', async () => {
  const text = fc
    .tuple(
      fc.array(fc.array(fc.tuple(cell, fc.boolean()), { minLength: 1, maxLength: 4 })),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
    )
    .map(([records, end, isEnded]) => {
      const lines = records.map((cells) => cells.map((each) => quoted(...each)).join(','));
      return lines.join(end) + (isEnded ? end : '');
    });
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(text, lengths, async (csv, cuts) => {
      const found: unknown[] = [];
      const options = { relax_column_count: true, skip_empty_lines: true };
      for await (const { cells, line } of csvRecords(pieces(csv, cuts))) {
        found.push(cells);
        // What begins on the line has the same cells.
        const rest = csv
          .split('\n')
          .slice(line - 1)
          .join('\n');
        expect(parse(rest, options)[0]).toEqual(cells);
      }
      expect(found).toEqual(parse(csv, options));
    }),
  );
});
