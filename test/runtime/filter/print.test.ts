import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FilterNode, FilterValue } from '../../../runtime/filter/ast.js';
import { type FilterLimits, parseFilter } from '../../../runtime/filter/parser.js';
import { printFilter, shapeOf } from '../../../runtime/filter/print.js';
import { bareTree } from './bare-tree.js';

const limits: FilterLimits = { filterLength: 1_000_000, filterDepth: 10_000 };
const nowhere = { start: 0, end: 0 };

function canonical(text: string): string {
  return printFilter(parseFilter(text, limits));
}

describe('printFilter', () => {
  it.each([
    ['a=1', 'a = 1'],
    [' A.b  IS NOT  null ', 'A.b != null'],
    ['a = "O\'Reilly"', String.raw`a = 'O\'Reilly'`],
    ["a = O'Reilly", String.raw`a = O\u0027Reilly`],
    [String.raw`a = '\\'`, String.raw`a = '\\'`],
    ['a=007', 'a = 007'],
    ['a=:3', 'a = :3'],
    ['((a=1)) & ((b=2)|c=3)', 'a = 1 AND (b = 2 OR c = 3)'],
    ['(a=1 or b=2) or c=3', 'a = 1 OR b = 2 OR c = 3'],
    ['a=1 or (b=2 or c=3)', 'a = 1 OR (b = 2 OR c = 3)'],
    ['a=1 or (b=2 and c=3)', 'a = 1 OR b = 2 AND c = 3'],
    ['a=1 and (b=2 except c=3)', 'a = 1 AND (b = 2 EXCEPT c = 3)'],
    ['NOT((a=1))', 'NOT (a = 1)'],
  ])('%s becomes %s', (text, want) => {
    expect(canonical(text)).toBe(want);
  });

  it('is undone by parsing', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const text = printFilter(filter);
        const parsed = parseFilter(text, limits);
        expect(bareTree(parsed)).toEqual(bareTree(filter));
        expect(printFilter(parsed)).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps the stack on long chains', () => {
    const text = 'a = 1 AND '.repeat(50_000) + 'a = 1';
    expect(canonical(text)).toBe(text);
    const nested = 'a = 1 OR (b = 2 AND ('.repeat(4_000) + 'a = 1' + '))'.repeat(4_000);
    expect(canonical(canonical(nested))).toBe(canonical(nested));
  });
});

describe('shapeOf', () => {
  it('takes values out in order and leaves null', () => {
    const { shape, values } = shapeOf(
      parseFilter("city = 'Paris' and not(boss is null or x > :2) | n begin O'R", limits),
    );
    expect(shape).toBe('city = ? AND NOT (boss = null OR x > ?) OR n begin ?');
    expect(values.map((value) => (value.kind === 'literal' ? value.value : value.kind))).toEqual([
      'Paris',
      'placeholder',
      "O'R",
    ]);
  });

  it('is the same for filters that differ in values alone, and only for them', () => {
    const shape = (text: string): string => shapeOf(parseFilter(text, limits)).shape;
    expect(shape("a='x' AND b=1")).toBe(shape('a == "y and z" & b is :4'));
    expect(shape("a='null'")).not.toBe(shape('a=null'));
    expect(shape("a='? AND b = ?'")).toBe('a = ?');
    expect(shape('a=1 OR b=2 AND c=3')).not.toBe(shape('(a=1 OR b=2) AND c=3'));
  });

  it('agrees with the canonical text', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const { shape, values } = shapeOf(filter);
        const texts = values.map((value) =>
          printFilter({ ...comparisonOf('x'), value }).slice('x = '.length),
        );
        let next = 0;
        expect(shape.replace(/\?/g, () => texts[next++] ?? '')).toBe(printFilter(filter));
      }),
    );
  });
});

function comparisonOf(name: string): FilterNode & { readonly kind: 'comparison' } {
  return {
    kind: 'comparison',
    path: { steps: [{ name, ordinal: 1, element: undefined, ...nowhere }], ...nowhere },
    comparator: '=',
    value: { kind: 'null', ...nowhere },
  };
}

const names = fc.oneof(
  fc.constantFrom('and', 'OR', 'not', 'begin', 'is', 'null', 'eval', 'in', '__KEY', '名前', '𐐀'),
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/),
);

const quotedTexts = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom("'", '"', '\\', ' AND ', '\u2028', '\0'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
  })
  .filter((text) => !/\p{Surrogate}/u.test(text));

/** Made by the parser, so that no test needs to know what a bare value may hold. */
const bareLiterals = fc
  .constantFrom(
    '1',
    '-2.5',
    '+1e3',
    '007',
    'true',
    'false',
    'Saint Paul',
    "O'Reilly",
    String.raw`\u0022x\u0022`,
    '2020-01-02',
    'Acme (Paris)',
    'Andorra',
    'é ü',
    '1e999',
    '-0',
    'True',
    '5" x',
  )
  .map((text): FilterValue => {
    const node = parseFilter(`x=${text}`, limits);
    if (node.kind !== 'comparison') throw new Error(text);
    return node.value;
  });

const values: fc.Arbitrary<FilterValue> = fc.oneof(
  fc.constant<FilterValue>({ kind: 'null', ...nowhere }),
  fc
    .integer({ min: 0, max: 127 })
    .map((key): FilterValue => ({ kind: 'placeholder', key, ...nowhere })),
  quotedTexts.map((text): FilterValue => ({
    kind: 'literal',
    value: text,
    text,
    quoted: true,
    ...nowhere,
  })),
  bareLiterals,
);

const comparisons: fc.Arbitrary<FilterNode> = fc.record({
  kind: fc.constant('comparison' as const),
  path: fc
    .array(names, { minLength: 1, maxLength: 3 })
    .map((path) => ({
      steps: path.map((name) => ({ name, ordinal: 1, element: undefined, ...nowhere })),
      ...nowhere,
    })),
  comparator: fc.constantFrom('=', '!=', '<', '<=', '>', '>=', 'begin'),
  value: values,
});

const { filters } = fc.letrec<{ filters: FilterNode }>((tie) => ({
  filters: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    comparisons,
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const, 'except' as const),
      left: tie('filters'),
      right: tie('filters'),
    }),
    fc.record({ kind: fc.constant('not' as const), operand: tie('filters') }),
  ),
}));
