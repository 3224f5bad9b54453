import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextPattern, WordSearch, TextSearch } from '../../../runtime/protocol/text-match.js';
const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 300 });
/** Long texts are searched with another algorithm than short ones. */
const pieces = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 }),
  fc
    .tuple(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }), fc.nat(80))
    .map(([part, times]) => part.repeat(times)),
);

describe('TextSearch', () => {
  it('finds what indexOf finds', () => {
    fc.assert(
      fc.property(letters, pieces, letters, fc.nat(50), (before, piece, after, start) => {
        for (const text of [before, before + piece + after]) {
          expect(new TextSearch(piece).find(text, Math.min(start, text.length))).toBe(
            text.indexOf(piece, Math.min(start, text.length)),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('continues after a match that is not accepted, including overlapping ones', () => {
    fc.assert(
      fc.property(letters, pieces, (text, piece) => {
        const expected: number[] = [];
        for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + 1)) {
          expected.push(at);
          if (at === text.length) break;
        }
        const places: number[] = [];
        const refuse = (at: number): boolean => places.push(at) === 0;
        expect(new TextSearch(piece).find(text, 0, refuse)).toBe(-1);
        expect(places).toStrictEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('TextPattern', () => {
  it('matches as a regular expression would', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 3 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(parts, fc.string({ unit: fc.constantFrom('a', 'b', '.') }), (given, text) => {
        const source = given.map((each) => each.replaceAll('.', '\\.')).join('[^]*');
        const pattern = new TextPattern(given.join('@'));
        expect(pattern.matches(text)).toBe(new RegExp(`^${source}$`).test(text));
        expect(pattern.matches(given.join(text))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('WordSearch', () => {
  it.each([
    ['ab', 'ab', true],
    ['xab ab', 'ab', true],
    ['xab abx', 'ab', false],
    ['ab1', 'ab', false],
    ['ab_', 'ab', false],
    ['ab\u0301', 'ab', false],
    ['\u{1d4b3}ab', 'ab', false],
    ['ab\u{1d4b3}', 'ab', false],
    ['\u{1f600}ab\u{1f600}', 'ab', true],
    ['a-b', 'a', true],
    ['a b a', 'b a', true],
    ['²ab', 'ab', false],
    ['', '', false],
    [' ', '', false],
  ])('%j holds the word %j: %s', (text, word, expected) => {
    expect(new WordSearch(word).isIn(text)).toBe(expected);
  });
});

it('A search does work that is linear in the text, whatever the pattern', () => {
  const text = 'a'.repeat(1_000_000);
  const piece = `${'a'.repeat(20_000)}b`;
  const before = process.cpuUsage();
  expect(new TextSearch(piece).find(text, 0)).toBe(-1);
  expect(new WordSearch(piece.slice(0, -1)).isIn(text)).toBe(false);
  expect(new TextPattern(`@${piece}@${piece}@`).matches(text)).toBe(false);
  expect(new TextPattern(`${'a@'.repeat(20_000)}b`).matches(text)).toBe(false);
  // It takes tens of milliseconds, but many seconds if each position were compared with the whole
  // piece.
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
});
