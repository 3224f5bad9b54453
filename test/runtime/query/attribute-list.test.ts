import { describe, expect, it } from 'vitest';
import { parseAttributeList } from '../../../runtime/query/attribute-list.js';
import { refusalOf } from '../refusal.js';

describe('Attribute lists', () => {
  it.each([
    ['a', ['a']],
    ['a,b', ['a', 'b']],
    [' a , boss.name ,\tstaff.*, * ', ['a', 'boss.name', 'staff.*', '*']],
    ['a,a', ['a', 'a']],
    ['prénom,名前.𐐀', ['prénom', '名前.𐐀']],
    ['boss.boss.boss.*', ['boss.boss.boss.*']],
  ])('are read: %j as %j', (text, want) => {
    const items = parseAttributeList(text, '$attributes');
    expect(items.map(({ path, all }) => [...path, ...(all ? ['*'] : [])].join('.'))).toEqual(want);
  });

  it.each([
    ['a,', 3, 'expected a name, found the end'],
    [',a', 1, 'expected a name, found ","'],
    ['a b', 3, 'expected a comma or the end, found "b"'],
    ['a.', 3, 'expected a name, found the end'],
    ['a..b', 3, 'expected a name, found "."'],
    ['a.*.b', 4, 'expected a comma or the end, found "."'],
    ['**', 2, 'expected a comma or the end, found "*"'],
    ['*a', 2, 'found "a"'],
    ['a-b', 2, 'found "-"'],
    ['"a"', 1, 'found "\\""'],
  ])('are refused: %j at character %i', (text, position, problem) => {
    const refusals = (['path', '$attributes', '$expand'] as const).map((kind) =>
      refusalOf(() => parseAttributeList(text, kind)),
    );
    if (!text.startsWith('*')) expect(refusals.map(({ code }) => code)).toEqual([1804, 1804, 1805]);
    expect(refusals[1]?.message).toContain(`Character ${position} of $attributes: `);
    expect(refusals[1]?.message).toContain(problem);
  });

  it('refuse an empty list with a code of its own, and a single * in $expand', () => {
    for (const kind of ['path', '$attributes', '$expand'] as const) {
      for (const text of ['', '  ']) {
        expect(refusalOf(() => parseAttributeList(text, kind)).code).toBe(1816);
      }
    }
    expect(refusalOf(() => parseAttributeList('boss,*', '$expand')).code).toBe(1805);
  });
});
