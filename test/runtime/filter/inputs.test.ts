import { describe, expect, it } from 'vitest';
import { FilterParser, filterInputs } from '../../../runtime/filter/prepared-filter.js';
import type { FilterInputs } from '../../../runtime/filter/inputs.js';
import type { FilterParams } from '../../../runtime/filter/params.js';
import { refusalOf } from '../refusal.js';

const limits = { filterLength: 1_000_000, filterDepth: 64 };
const plain = new FilterParser(limits);
const wild = new FilterParser(limits, { wildcard: true });

function inputs(text: string, params?: FilterParams, parser = plain): FilterInputs {
  return filterInputs(parser.prepare(text, params), params);
}

function values(text: string, params?: FilterParams): readonly unknown[] {
  return inputs(text, params).inputs.map(({ value }) => value);
}

describe('The inputs of a filter', () => {
  it.each<[filter: string, params: FilterParams | undefined, values: readonly unknown[]]>([
    ["a = 'x' AND b = 2 OR c is null", undefined, ['x', 2]],
    ['a = :2 AND b = :1', [1, 'x'], ['x', 1]],
    ['a = :1', [null], [null]],
    ['a = :128', Array.from({ length: 128 }, (_, i) => i), [127]],
    ['a = :x AND b = :y.z.1', { x: 1, y: { z: { 1: 'in' } } }, [1, 'in']],
    ['a = :x', { x: null }, [null]],
    ['a = :x', { x: { vector: [1] } }, [{ vector: [1] }]],
    ["a in [1, 'x', null]", undefined, [[1, 'x', null]]],
    ['a in []', undefined, [[]]],
    ['a in [:1, 2, :2]', ['x', null], [['x', 2, null]]],
    ['a in :1', [[1, 'x', true, null]], [[1, 'x', true, null]]],
    ['a in :list.of', { list: { of: [] } }, [[]]],
    [':1 = :2', ['a', 'x'], ['x']],
  ])('of %s with %j are %j', (filter, params, want) => {
    expect(values(filter, params)).toEqual(want);
  });

  it('keep the text of written values, and the placeholder of others', () => {
    const [written, list, given] = inputs('a = 01 AND b in [01, :1] AND c = :2', ['x', 'y']).inputs;
    expect(written).toMatchObject({ value: 1, text: '01' });
    expect(list?.items).toMatchObject([
      { value: 1, text: '01' },
      { value: 'x', placeholder: { key: 0 } },
    ]);
    expect(given).toMatchObject({ value: 'y', placeholder: { key: 1, start: 33 } });
  });

  it('include a member named __proto__ like any other', () => {
    expect(values('a = :__proto__', JSON.parse('{"__proto__":1}') as FilterParams)).toEqual([1]);
    expect(
      values('a = :__proto__.toString', JSON.parse('{"__proto__":{"toString":2}}') as FilterParams),
    ).toEqual([2]);
  });

  it('are created once if no request can change them', () => {
    const prepared = plain.prepare("a = 'x' AND b in [1, null]", undefined);
    expect(filterInputs(prepared, undefined)).toBe(filterInputs(prepared, [1]));
  });
});

describe('Nulls and patterns', () => {
  it.each<[filter: string, params: FilterParams | undefined, nulls: readonly number[]]>([
    ['a = 1 AND b = null', undefined, []],
    ['a = 1 AND b = :1', [null], [1]],
    ['a in [1, 2] AND b in [1, null]', undefined, [1]],
    ['a in [:1] AND b in :2', [null, [1, null]], [0, 1]],
    ["a = 'null' AND b in ['null']", undefined, []],
  ])('are found: %s with %j has nulls at %j', (filter, params, nulls) => {
    expect(inputs(filter, params).nulls).toEqual(nulls);
    expect(inputs(filter, params, wild).patterns).toEqual([]);
  });

  it.each<[filter: string, params: FilterParams | undefined, patterns: readonly number[]]>([
    ['a = x@ AND b = y AND c = @', undefined, [0, 2]],
    ['a = x* AND b = *x AND c = x*y AND d = "*"', undefined, [0, 3]],
    ['a != @ AND b # x*', undefined, [0, 1]],
    ['a === x@ AND b is x* AND c !== @ AND d is not @', undefined, []],
    ['a begin x@ AND b contains x@ AND c % x@ AND d < x@ AND e >= x*', undefined, []],
    ['a in [1, x@] AND b in [x, y]', undefined, [0]],
    ['a in [:1, 1] AND b in :2 AND c in :3', ['x*', ['a', 'b@'], ['a']], [0, 1]],
    ['a = :1 AND b = :2 AND c = :3', ['@', 1, null], [0]],
    ['a = 1 AND b = true', undefined, []],
  ])('are found: %s with %j has patterns at %j', (filter, params, patterns) => {
    expect(inputs(filter, params, wild).patterns).toEqual(patterns);
    expect(inputs(filter, params, plain).patterns).toEqual([]);
  });
});

describe('Values that are missing or of the wrong type', () => {
  const noValue = '$params has no value for';
  it.each<
    [filter: string, params: FilterParams | undefined, code: number, at: number, says: string]
  >([
    ['a = :1', undefined, 1279, 5, `${noValue} :1.`],
    ['a = :2', ['x'], 1279, 5, `${noValue} :2.`],
    ['a = 1 or b=:x', undefined, 1279, 12, `${noValue} :x.`],
    ['a = :x', { y: 1 }, 1279, 5, `${noValue} :x.`],
    ['a = :x.y', { x: 1 }, 1279, 5, `${noValue} :x.y.`],
    ['a = :x.length', { x: 'text' }, 1279, 5, `${noValue} :x.length.`],
    ['a = :x.length', { x: [1] }, 1279, 5, `${noValue} :x.length.`],
    ['a = :x.0', { x: [1] }, 1279, 5, `${noValue} :x.0.`],
    ['a = :x.y', { x: null }, 1279, 5, `${noValue} :x.y.`],
    ['a = :x.y', { 'x.y': 1 }, 1279, 5, `${noValue} :x.y.`],
    ['a = :1', { 1: 'x' }, 1279, 5, ':1 takes its value from a list, and $params is an object.'],
    ['a = :x', ['x'], 1279, 5, ':x takes its value from an object, and $params is a list.'],
    ['a = :length', [], 1279, 5, ':length takes its value from an object'],
    ['a in [1, :2]', [1], 1279, 10, `${noValue} :2.`],
    [':2 = 1', ['a'], 1279, 1, `${noValue} :2.`],
    [':a.b = 1', undefined, 1279, 1, `${noValue} :a.b.`],
    ['a in :1', ['x'], 1280, 6, 'expected a list as the value of :1 in $params, found a text.'],
    ['a in :1', [null], 1280, 6, 'expected a list as the value of :1 in $params, found null.'],
    ['a in :x', { x: { a: 1 } }, 1280, 6, 'the value of :x in $params, found an object.'],
    ['a in :1', [[1, [2]]], 1280, 6, 'as the value of :1 in $params, found a list in it.'],
    ['a in :1', [[{}]], 1280, 6, 'as the value of :1 in $params, found an object in it.'],
    [
      'a in [1,:1]',
      [[2]],
      1280,
      9,
      'true, false or null as the value of :1 in $params, found a list.',
    ],
    [
      ':1 = 1',
      [1],
      1280,
      1,
      'expected the path of an attribute as the value of :1 in $params, found a number.',
    ],
    [':1 = 1', [null], 1280, 1, 'found null.'],
    [':1 = 1', [true], 1280, 1, 'found a boolean.'],
    ['b=1 or :1 = 1', [['a']], 1280, 8, 'found a list.'],
  ])('are refused: %s with %j is %i at character %i', (filter, params, code, at, says) => {
    const refusal = refusalOf(() => inputs(filter, params));
    expect(refusal).toMatchObject({ status: 400, code });
    expect(refusal.message).toContain(`Character ${at} of $filter: `);
    expect(refusal.message).toContain(says);
  });

  it.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'constructor.name',
    '__proto__.x',
  ])('include inherited members such as %s', (name) => {
    for (const filter of [`a = :${name}`, `a in [:${name}]`, `:${name} = 1`, `a in :${name}`]) {
      for (const params of [{}, { x: 1 }, JSON.parse('{}') as FilterParams]) {
        expect(refusalOf(() => inputs(filter, params)).code, filter).toBe(1279);
      }
    }
  });
});

describe('The limits of lists in $params', () => {
  const list = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

  it('apply to one list', () => {
    expect(values('a in :1', [list(10_000)])).toHaveLength(1);
    expect(refusalOf(() => inputs('a in :1', [list(10_001)]))).toMatchObject({
      code: 1162,
      message:
        'Character 6 of $filter: the list given by :1 has 10001 values; a list has at most 10000.',
    });
    expect(refusalOf(() => inputs(`a in [${list(10_001).join()}]`)).message).toContain(
      'a list has at most 10000 values',
    );
  });

  it('apply to all lists together', () => {
    const many = (count: number): string => Array(count).fill('a in :1').join(' or ');
    expect(values(many(10), [list(10_000)])).toHaveLength(10);
    expect(refusalOf(() => inputs(many(11), [list(10_000)]))).toMatchObject({
      code: 1162,
      message: `Character ${many(11).length - 1} of $filter: the lists of a filter have at most 100000 values together.`,
    });
  });
});
