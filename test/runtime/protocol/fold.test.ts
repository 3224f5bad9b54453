import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold, foldWithoutAccents } from '../../../runtime/protocol/fold.js';

const text = fc.string({ unit: 'binary' }).filter((given) => !/\p{Surrogate}/u.test(given));

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
  ])('%s', (given, want) => {
    expect(fold(given)).toBe(want);
  });

  it('is what the definition says, by either way', () => {
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
  ])('%s is %s', (text, folded) => {
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
