import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../../runtime/protocol/fold.js';

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
