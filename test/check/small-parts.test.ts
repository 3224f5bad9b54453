import { describe, expect, it } from 'vitest';
import { dayOf } from '../../generator/check/values.js';
import { outsideOneExpression } from '../../generator/check/expression-text.js';
import { createSuggest } from '../../generator/check/near-name.js';
import { editDistance } from '../../runtime/protocol/names.js';

describe('Similar names', () => {
  it('are found by the number of typing errors', () => {
    const table = [
      ['', 'abc', 3],
      ['abc', 'abc', 0],
      ['Compnay', 'Company', 1],
      ['kitten', 'sitting', 3],
      ['ab', 'ba', 1],
    ] as const;
    for (const [a, b, distance] of table) expect(editDistance(a, b)).toBe(distance);
  });

  it('are suggested only when they are similar enough', () => {
    const suggest = createSuggest();
    const names = ['Company', 'Employee', 'ID'];
    expect(suggest('company', names)).toBe('did you mean Company?');
    expect(suggest('Emploee', names)).toBe('did you mean Employee?');
    expect(suggest('Id', names)).toBe('did you mean ID?');
    expect(suggest('Invoice', names)).toBeUndefined();
    expect(suggest('x'.repeat(10_000), names)).toBeUndefined();
  });

  it('are no longer searched when there is too much to compare', () => {
    const suggest = createSuggest();
    const names = Array.from({ length: 250_000 }, (_, index) => `name${index}`);
    expect(suggest('nme7', names)).toBeUndefined();
  });
});

describe('Dates', () => {
  it('must exist in the calendar', () => {
    expect(dayOf('2024-02-29')).toBe('2024-02-29');
    for (const text of ['2026-02-29', '2026-13-01', '2026-1-1', '2026-01-01T00:00:00Z', 'x']) {
      expect(dayOf(text)).toBeUndefined();
    }
  });
});

describe('Expressions', () => {
  it('may contain any character inside texts and quoted names', () => {
    for (const text of [
      "'--;/*)'",
      '"a;b"',
      "'it''s (' || [x)]",
      '`a--b`',
      'round((a + b) / 2.0)',
    ]) {
      expect(outsideOneExpression(text)).toBeUndefined();
    }
  });

  it('cannot close a parenthesis that they did not open', () => {
    for (const text of [
      '1)',
      '1) (',
      "'a",
      '"a',
      '[a',
      'a]',
      '1 -- x',
      '1 /* x */',
      'a;b',
      '',
      '\0',
    ]) {
      expect(outsideOneExpression(text)).toBeDefined();
    }
  });
});
