import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOrderBy } from '../../../runtime/query/order-by.js';
import { isServed, refusalOf } from '../refusal.js';

function summary(text: string): string {
  return parseOrderBy(text)
    .map(({ path, descending }) => `${path.join('/')} ${descending ? '-' : '+'}`)
    .join(', ');
}

describe('$orderby', () => {
  it.each([
    ['a', 'a +'],
    ['a ASC', 'a +'],
    ['a desc', 'a -'],
    [' boss.name  DeSc ,b,\tc Asc ', 'boss/name -, b +, c +'],
    ['desc desc, asc', 'desc -, asc +'],
    ['prénom,__KEY,𐐀', 'prénom +, __KEY +, 𐐀 +'],
    ['a desc, b, a asc', 'a -, b +'],
    ['eval', 'eval +'],
    ['extra.deep.x.length desc', 'extra/deep/x/length -'],
  ])('reads %j as %j', (text, want) => {
    expect(summary(text)).toBe(want);
  });

  it.each([
    ['', 1, 'expected an attribute, found the end'],
    ['  ', 3, 'expected an attribute, found the end'],
    ['a,', 3, 'expected an attribute, found the end'],
    [',a', 1, 'expected an attribute, found ","'],
    ['a,,b', 3, 'found ","'],
    ['a.', 3, 'expected a name after the dot, found the end'],
    ['a..b', 3, 'found "."'],
    ['a down', 3, 'expected ASC, DESC or a comma, found "down"'],
    ['a ascending', 3, 'found "ascending"'],
    ['a desc asc', 8, 'expected a comma or the end, found "asc"'],
    ['a;drop', 2, 'expected a comma or the end, found ";"'],
    ['"a"', 1, 'found "\\""'],
    ['a[1]', 2, 'nothing is ordered by elements of an array, found "["'],
    ['b, a.list[].x', 10, 'nothing is ordered by elements of an array, found "["'],
    ['a{2}.b desc', 2, 'nothing is ordered by another related entity, found "{"'],
    ['a [1]', 3, 'expected a comma or the end, found "["'],
    [':1', 1, 'expected an attribute, found ":"'],
    ['a 😀', 3, 'found "😀"'],
  ])('refuses %j with 1810 at character %i', (text, position, problem) => {
    const { status, code, message } = refusalOf(() => parseOrderBy(text));
    expect({ status, code }).toEqual({ status: 400, code: 1810 });
    expect(message).toContain(`Character ${position} of $orderby: `);
    expect(message).toContain(problem);
  });

  it('counts characters from the place of the order in a filter', () => {
    const origin = { parameter: '$filter', start: 12 } as const;
    expect(refusalOf(() => parseOrderBy(' b, c down', origin))).toMatchObject({
      code: 1810,
      message: 'Character 19 of $filter: expected ASC, DESC or a comma, found "down".',
    });
    expect(refusalOf(() => parseOrderBy(' eval(1)', origin)).message).toBe(
      'Character 14 of $filter: formulas are not allowed.',
    );
    expect(parseOrderBy(' b desc', origin)).toEqual([
      { path: ['b'], descending: true, place: 'Character 14 of $filter' },
    ]);
  });

  it('limits the attributes, each counted once', () => {
    const names = (count: number): string =>
      Array.from({ length: count }, (_, i) => `extra.a${i}`).join();
    expect(parseOrderBy(`${names(100)},${names(100)}`)).toHaveLength(100);
    expect(refusalOf(() => parseOrderBy(names(101)))).toMatchObject({
      code: 1810,
      message: `Character ${names(100).length + 2} of $orderby: an order names at most 100 attributes.`,
    });
  });

  it('refuses formulas', () => {
    expect(refusalOf(() => parseOrderBy('a, eval(This.a)')).code).toBe(1278);
  });

  it('reads or refuses any text', () => {
    const soup = fc.array(
      fc.constantFrom('a', '.', ',', ' ', 'desc', 'é', '\ud800', '(', '[', '{'),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          soup.map((parts) => parts.join('')),
          fc.string(),
        ),
        (text) => {
          expect(isServed(() => parseOrderBy(text))).toBeTypeOf('boolean');
        },
      ),
    );
  });
});
