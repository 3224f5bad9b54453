import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  AttributePath,
  FilterNode,
  FilterValue,
  PathStep,
  PlaceholderValue,
  SingleValue,
} from '../../../runtime/filter/ast.js';
import {
  type ParsedFilter,
  parseFilter,
  type SyntaxLimits,
} from '../../../runtime/filter/parser.js';
import { pathFromParam } from '../../../runtime/filter/path.js';
import { bareTree } from './bare-tree.js';
import { anyCharacter } from '../../support/any-character.js';
import { placeholderText } from '../../../runtime/filter/params.js';
import { shapeOf } from '../../../runtime/filter/prepared-filter.js';

const limits: SyntaxLimits = {
  filterLength: 1_000_000,
  filterDepth: 10_000,
  conditions: 100_000,
  listSize: 10_000,
};
const nowhere = { start: 0, end: 0 };

function parsed(text: string): FilterNode {
  return parseFilter(text, limits).filter;
}

/** The shape of a filter with its values: parsing it again returns the same filter. */
function printFilter({ filter, orderBy }: ParsedFilter): string {
  const { shape, comparisons } = shapeOf(filter);
  let next = 0;
  const text = shape.replace(/\?/g, () => valueText(comparisons[next++]?.value as FilterValue));
  return orderBy === undefined ? text : `${text} order by${orderBy.text}`;
}

function valueText(value: FilterValue): string {
  switch (value.kind) {
    case 'null':
      return 'null';
    case 'placeholder':
      return `:${placeholderText(value)}`;
    case 'literal':
      return value.quoted
        ? `'${value.text.replace(/[\\']/g, '\\$&')}'`
        : value.text.replace(/["']/g, (quote) => (quote === '"' ? '\\u0022' : '\\u0027'));
    case 'list':
      return `[${value.items.map(valueText).join(', ')}]`;
  }
}

function canonical(text: string): string {
  return printFilter(parseFilter(text, limits));
}

describe('A shape with its values', () => {
  it.each([
    ['a=1', 'a = 1'],
    [' A.b  IS NOT  null ', 'A.b !== null'],
    ['a==1', 'a = 1'],
    ['a # 1', 'a != 1'],
    ['a%x', 'a % x'],
    ['a Contains x', 'a contains x'],
    ['a IN["x", y z,:1,Null,:a.b]', "a in ['x', y z, :1, null, :a.b]"],
    ['a in[ ]', 'a in []'],
    ['a{02}.b[A].c[]=1', 'a{2}.b[a].c[] = 1'],
    [':1=:x', ':1 = :x'],
    ['a=1 ORDER BY  b desc', 'a = 1 order by  b desc'],
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
  ])('prints %s as %s', (text, want) => {
    expect(canonical(text)).toBe(want);
  });

  it('prints a text that is parsed to the same filter', () => {
    fc.assert(
      fc.property(parsedFilters, (filter) => {
        const text = printFilter(filter);
        const again = parseFilter(text, limits);
        expect(bareTree(again.filter)).toEqual(bareTree(filter.filter));
        expect(again.orderBy?.text).toBe(filter.orderBy?.text);
        expect(printFilter(again)).toBe(text);
      }),
      { numRuns: 5000 },
    );
  });

  it('does not exhaust the stack on long chains', () => {
    const text = 'a = 1 AND '.repeat(50_000) + 'a = 1';
    expect(canonical(text)).toBe(text);
    const nested = 'a = 1 OR (b = 2 AND ('.repeat(4_000) + 'a = 1' + '))'.repeat(4_000);
    expect(canonical(canonical(nested))).toBe(canonical(nested));
  });
});

describe('shapeOf', () => {
  const shape = (text: string): string => shapeOf(parsed(text)).shape;

  it('extracts values in order and leaves null', () => {
    const { shape, comparisons } = shapeOf(
      parsed("city = 'Paris' and not(boss is null or x > :2) | n begin O'R & m in [1,null]"),
    );
    expect(shape).toBe('city = ? AND NOT (boss === null OR x > ?) OR n begin ? AND m in ?');
    expect(
      comparisons.map(({ value }) => (value.kind === 'literal' ? value.value : value.kind)),
    ).toEqual(['Paris', 'placeholder', "O'R", 'list']);
  });

  it('is the same for filters that differ only in values', () => {
    expect(shape("a='x' AND b=1")).toBe(shape('a == "y and z" & b == :4'));
    expect(shape("a='? AND b = ?'")).toBe('a = ?');
    expect(shape('a in [1,2]')).toBe(shape('a in :1'));
    expect(shape('a in []')).toBe(shape('a in [null]'));
    expect(shape('a{1}=1')).toBe(shape('a=1'));
  });

  it.each([
    ["a='null'", 'a=null'],
    ['a=1 OR b=2 AND c=3', '(a=1 OR b=2) AND c=3'],
    ['a=1', 'a===1'],
    ['a!=1', 'a!==1'],
    ['a=:1', 'a in :1'],
    ['a{2}.b=1', 'a.b=1'],
    ['a{2}.b=1', 'a{3}.b=1'],
    ['a[]=1', 'a=1'],
    ['a[a]=1', 'a[]=1'],
    ['a[a]=1', 'a[b]=1'],
    ['a[].b=1', 'a.b[]=1'],
  ])('differs between %s and %s', (one, other) => {
    expect(shape(one)).not.toBe(shape(other));
  });

  it('distinguishes any two paths of parameters', () => {
    const name = fc.string({
      minLength: 1,
      maxLength: 4,
      unit: fc.constantFrom('a', 'b', '"', '\\', ' ', '=', '?', '\0', 'é', '~', ',', '\n', ':'),
    });
    const step = fc.tuple(name, fc.constantFrom('', '{2}', '{3}', '[]', '[a]', '{2}[a]'));
    const path = fc
      .array(step, { minLength: 1, maxLength: 3 })
      .map((steps) => steps.map((each) => each.join('')).join('.'));
    const shapeFor = (text: string): string =>
      shapeOf({ ...comparisonOf('x'), path: pathFromParam(text, { ...placeholderOf(0) }) }).shape;
    fc.assert(
      fc.property(path, path, (one, other) => {
        expect(shapeFor(one) === shapeFor(other)).toBe(one === other);
      }),
      { numRuns: 5000 },
    );
    expect(shapeFor('a"."b')).not.toBe(shapeFor('a.b'));
    expect(shapeFor('a = ? OR b')).toBe('"a = ? OR b" = null');
  });
});

function comparisonOf(name: string): FilterNode & { readonly kind: 'comparison' } {
  return {
    kind: 'comparison',
    path: { steps: [stepOf(name)], ...nowhere },
    comparator: '=',
    value: { kind: 'null', ...nowhere },
  };
}

function stepOf(name: string): PathStep {
  return { name, ordinal: 1, element: undefined, ...nowhere };
}

function placeholderOf(key: number | string): PlaceholderValue {
  return { kind: 'placeholder', key, ...nowhere };
}

const names = fc.oneof(
  fc.constantFrom('and', 'OR', 'not', 'begin', 'is', 'null', 'eval', 'in', '__KEY', '名前', '𐐀'),
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/),
);

const quotedTexts = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom("'", '"', '\\', ' AND ', '\u2028', '\0'),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
    ),
  })
  .filter((text) => !/\p{Surrogate}/u.test(text));

/** Created by the parser, so that no test needs to know the rules of bare values. */
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
  .map((text): SingleValue => {
    const node = parsed(`x=${text}`);
    if (node.kind !== 'comparison' || node.value.kind === 'list') throw new Error(text);
    return node.value;
  });

const bareItems = fc
  .constantFrom('1', '-2.5', 'true', 'Saint Paul', "O'Reilly", 'a AND b', 'x=y', '(', '& <', '10:1')
  .map((text): SingleValue => {
    const node = parsed(`x in [${text}]`);
    if (node.kind !== 'comparison' || node.value.kind !== 'list') throw new Error(text);
    return node.value.items[0] as SingleValue;
  });

const placeholders = fc.oneof(
  fc.integer({ min: 0, max: 127 }).map(placeholderOf),
  fc
    .tuple(
      fc.stringMatching(/^[A-Za-z_名][A-Za-z0-9_名]{0,3}$/),
      fc.array(fc.stringMatching(/^[A-Za-z0-9_名]{1,4}$/), { maxLength: 2 }),
    )
    .map(([name, members]) => placeholderOf([name, ...members].join('.'))),
);

const writtenValues: fc.Arbitrary<SingleValue> = fc.oneof(
  fc.constant<SingleValue>({ kind: 'null', ...nowhere }),
  placeholders,
  quotedTexts.map((text): SingleValue => ({
    kind: 'literal',
    value: text,
    text,
    quoted: true,
    ...nowhere,
  })),
);

const values: fc.Arbitrary<FilterValue> = fc.oneof(writtenValues, bareLiterals);

const lists: fc.Arbitrary<FilterValue> = fc.oneof(
  placeholders,
  fc
    .array(fc.oneof(writtenValues, bareItems), { maxLength: 4 })
    .map((items): FilterValue => ({ kind: 'list', items, ...nowhere })),
);

const steps = fc.record({
  name: names,
  ordinal: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9999 })),
  element: fc.constantFrom(undefined, undefined, '', 'a', 'z'),
  start: fc.constant(0),
  end: fc.constant(0),
});

const paths: fc.Arbitrary<AttributePath> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(steps, { minLength: 1, maxLength: 3 }).map((each) => ({
      steps: each,
      ...nowhere,
    })),
  },
  {
    weight: 1,
    arbitrary: placeholders.map((placeholder) => ({ steps: [], placeholder, ...nowhere })),
  },
);

const comparisons: fc.Arbitrary<FilterNode> = fc.oneof(
  fc.record({
    kind: fc.constant('comparison' as const),
    path: paths,
    comparator: fc.constantFrom(
      ...(['=', '!=', '===', '!==', '<', '<=', '>', '>=', 'begin', 'contains', '%'] as const),
    ),
    value: values,
  }),
  fc.record({
    kind: fc.constant('comparison' as const),
    path: paths,
    comparator: fc.constant('in' as const),
    value: lists,
  }),
);

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

const parsedFilters: fc.Arbitrary<ParsedFilter> = fc.record({
  filter: filters,
  orderBy: fc
    .option(fc.constantFrom('', ' a', ' a.b desc, c', ' order by', " 'x"), { nil: undefined })
    .map((text) => (text === undefined ? undefined : { text, start: 0 })),
});
