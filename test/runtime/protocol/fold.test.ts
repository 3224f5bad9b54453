import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { fold, foldWithoutAccents, separateMarks } from '../../../runtime/protocol/fold.js';
import { anyCharacter } from '../../support/any-character.js';

const text = fc.string({ unit: anyCharacter }).filter((given) => !/\p{Surrogate}/u.test(given));

describe('fold', () => {
  it.each([
    ['Paris', 'paris'],
    ['ÉCOLE', 'école'],
    ['e\u0301', 'é'],
    ['E\u0301', 'é'],
    ['\u212b', 'å'],
    ['STRASSE', 'strasse'],
    ['Straße', 'straße'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['οδος', 'οδοσ'],
    ['\u{10400}', '\u{10428}'],
    ['İ', 'i\u0307'],
    ['\ud800', '\ud800'],
    ['', ''],
  ])('of %s is %s', (given, want) => {
    expect(fold(given)).toBe(want);
  });

  it('is what the definition says, in both implementations', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(fold(given)).toBe(given.normalize('NFC').toLowerCase());
      }),
    );
  });

  it('is the same for every normal form', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(fold(given.normalize('NFD'))).toBe(fold(given));
      }),
    );
  });
});

describe('foldWithoutAccents', () => {
  it.each([
    ['É', 'e'],
    ['Ångström', 'angstrom'],
    ['İ', 'i'],
    ['ΆΛΦΑΣ', 'αλφασ'],
    ['Й', 'и'],
    ['ø', 'ø'],
    ['ß', 'ß'],
    ['e\u0301\u0323', 'e'],
    ['हिन्दी', 'हिन्दी'],
    ['한국', '한국'],
    ['Plain', 'plain'],
  ])('of %s is %s', (text, folded) => {
    expect(foldWithoutAccents(text)).toBe(folded);
  });

  it('is the same for every way to write an accent', () => {
    const texts = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(texts, (text) => {
        const folded = foldWithoutAccents(text);
        expect(foldWithoutAccents(text.normalize('NFD'))).toBe(folded);
        expect(foldWithoutAccents(text.normalize('NFC'))).toBe(folded);
        expect(foldWithoutAccents(folded)).toBe(folded);
      }),
    );
  });
});

describe('Long runs of combining marks', () => {
  const mark = fc.constantFrom(
    ...['\u0301', '\u0316', '\u0327', '\u0334', '\u0344', '\u0345', '\u034f', '\u05b0'],
    ...['\u0f73', '\u3099', '\u{1d165}', '\u{113c2}', '\u{16d67}', '\u20dd'],
  );
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: mark, maxLength: 80 }) },
    fc.constantFrom('e', 'E', 'Å', 'ệ', 'İ', 'Σ', '가', '😀', ' '),
  );
  const piled = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));

  it('are folded by NFC up to 30 marks of one character', () => {
    const few = fc.array(
      fc.tuple(fc.constantFrom('e', 'Å', '😀', ' '), fc.string({ unit: mark, maxLength: 30 })),
    );
    fc.assert(
      fc.property(few, (characters) => {
        const given = characters.flat().join('');
        expect(separateMarks(given)).toBe(given);
        expect(fold(given)).toBe(given.normalize('NFC').toLowerCase());
      }),
    );
  });

  it('lose nothing and gain only separators', () => {
    fc.assert(
      fc.property(piled, (given) => {
        const plain = (text: string): string => text.replaceAll('\u034f', '');
        expect(plain(separateMarks(given))).toBe(plain(given));
      }),
    );
  });

  it.each([fold, foldWithoutAccents])(
    'are never passed to normalize more than 30 at a time by %o',
    (folding) => {
      const normalize = vi.spyOn(String.prototype, 'normalize');
      try {
        fc.assert(
          fc.property(piled, (given) => {
            normalize.mockClear();
            folding(given);
            for (const handed of normalize.mock.contexts) {
              // NFD splits one mark into two, and lower case turns İ into two characters.
              expect(longestRun(String(handed))).toBeLessThanOrEqual(61);
            }
          }),
        );
      } finally {
        normalize.mockRestore();
      }
    },
  );

  it('are separated in texts of every length, wherever they begin', () => {
    for (const mark of ['\u0301', '\u{1d165}']) {
      for (let before = 0; before < 70; before += 1) {
        const given = `${'x'.repeat(before)}${mark.repeat(31)}`;
        expect(longestRun(separateMarks(given))).toBe(30);
      }
    }
  });
});

function longestRun(text: string): number {
  const runs = text.match(/(?:(?!\u034f)[\p{M}\u{16d67}])+/gu) ?? [];
  return Math.max(0, ...runs.map((run) => Array.from(run).length));
}
