import { describe, expect, it } from 'vitest';
import { nameEnd, found, shortened } from '../../../runtime/protocol/names.js';

describe('nameEnd', () => {
  it.each([
    ['abc', 3],
    ['a_1 b', 3],
    ['', 0],
    ['-a', 0],
    ['a-b', 1],
    ['a$', 1],
    ['naïve=', 5],
    ['名前.x', 2],
    ['𐐀𐐁+', 4],
    ['a😀', 1],
    ['x²½', 3],
    // A combining mark belongs to no name, as in the model.
    ['e\u0301', 1],
    ['a\ud800', 1],
    ['a\u2028', 1],
    ['a\u00a0b', 1],
  ])('of %j is %i', (text, end) => {
    expect(nameEnd(text, 0)).toBe(end);
  });
});

describe('found', () => {
  it.each([
    ['abc def', 4, 'found "def"'],
    ['a;', 1, 'found ";"'],
    ['a😀b', 1, 'found "😀"'],
    ['a\n', 1, 'found "\\n"'],
    ['a', 1, 'found the end'],
    ['x'.repeat(30), 0, `found "${'x'.repeat(24)}..."`],
  ])('describes %j at %i as %s', (text, offset, want) => {
    expect(found(text, offset)).toBe(want);
  });

  it('quotes no part of a character', () => {
    expect(shortened('😀'.repeat(20))).toBe(`${'😀'.repeat(12)}...`);
    expect(shortened('a' + '😀'.repeat(20))).toBe(`a${'😀'.repeat(11)}...`);
  });
});
