import { describe, expect, it } from 'vitest';
import type { StorageDefinition } from '../../../runtime/protocol/definition.js';
import { checkRules } from '../../../runtime/protocol/rules.js';
import type { StoredValue } from '../../../runtime/protocol/values.js';

type Rules = Partial<StorageDefinition>;

function check(rules: Rules, value: StoredValue): readonly string[] {
  return checkRules({ kind: 'storage', name: 'a', column: 'a', type: 'string', ...rules }, value);
}

describe('checkRules', () => {
  it.each<[Rules, StoredValue]>([
    [{}, 'x'],
    [{}, null],
    [{ enum: ['a'], minLength: 2, min: 3, pattern: /x/ }, null],
    [{ mandatory: true }, ''],
    [{ enum: ['a', 'b'] }, 'b'],
    [{ type: 'integer', enum: [1, 2] }, 2],
    [{ minLength: 0 }, ''],
    [{ minLength: 2, maxLength: 2 }, '😀😀'],
    [{ minLength: 2, maxLength: 3 }, 'a😀'],
    [{ maxLength: 2 }, 'e\u0301'],
    [{ type: 'number', min: 1, max: 2 }, 1],
    [{ type: 'number', min: 1, max: 2 }, 2],
    [
      { type: 'date', min: '2020-01-01', max: '2020-12-31T23:00:00+01:00' },
      '2020-12-31T22:00:00.000Z',
    ],
    [{ type: 'date', dateOnly: true, min: '1!2!2020' }, '2020-02-01'],
    [{ pattern: /b+/ }, 'abc'],
    [{ type: 'object', maxLength: 1, pattern: /x/ }, '{"a":1}'],
  ])('accepts by %j the value %j', (rules, value) => {
    expect(check(rules, value)).toEqual([]);
    expect(check(rules, value)).toBe(check({}, null));
  });

  it.each<[Rules, StoredValue, string]>([
    [{ mandatory: true }, null, 'must not be null'],
    [{ enum: ['a', 'b'] }, 'A', 'must be one of a, b'],
    [{ type: 'integer', enum: [1, 2] }, 3, 'must be one of 1, 2'],
    [{ minLength: 1 }, '', 'must have at least 1 character'],
    [{ minLength: 3 }, '😀😀', 'must have at least 3 characters'],
    [{ maxLength: 1 }, 'ab', 'must have at most 1 character'],
    [{ maxLength: 2 }, '😀😀😀', 'must have at most 2 characters'],
    [{ maxLength: 3 }, 'ab😀😀', 'must have at most 3 characters'],
    [{ type: 'number', min: 1 }, 0.5, 'must not be below 1'],
    [{ type: 'integer', max: 2 }, 3, 'must not be above 2'],
    [{ type: 'duration', min: 0 }, -1, 'must not be below 0'],
    [
      { type: 'date', min: '2020-01-01' },
      '2019-12-31T23:59:59.999Z',
      'must not be below 2020-01-01',
    ],
    [
      { type: 'date', dateOnly: true, max: '2020-01-01' },
      '2020-01-02',
      'must not be above 2020-01-01',
    ],
    [{ pattern: /^b+$/ }, 'abc', 'must match the pattern ^b+$'],
    [{ maxLength: 2, pattern: /^b+$/ }, 'abc', 'must have at most 2 characters'],
  ])('refuses by %j the value %j', (rules, value, message) => {
    expect(check(rules, value)).toEqual([message]);
  });

  it('matches a pattern with at most 2,000 characters', () => {
    expect(check({ pattern: /^b+$/ }, 'b'.repeat(2_000))).toEqual([]);
    expect(check({ pattern: /^b+$/ }, 'b'.repeat(2_001))).toEqual([
      'must have at most 2000 characters to be matched with its pattern',
    ]);
  });

  it('names every broken rule', () => {
    const rules: Rules = { enum: ['aaa'], minLength: 3, pattern: /a/ };
    expect(check(rules, 'b')).toEqual([
      'must be one of aaa',
      'must have at least 3 characters',
      'must match the pattern a',
    ]);
  });

  it('does not depend on the state of a pattern', () => {
    const rules: Rules = { pattern: /a/g };
    for (let round = 0; round < 3; round += 1) expect(check(rules, 'a')).toEqual([]);
  });
});
