import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFilter, type SyntaxLimits } from '../../../runtime/filter/parser.js';
import { isServed, refusalOf } from '../refusal.js';
import { bareTree } from './bare-tree.js';
import { anyCharacter } from '../../support/any-character.js';

const limits: SyntaxLimits = {
  filterLength: 16_384,
  filterDepth: 64,
  conditions: 500,
  listSize: 1_000,
};

function tree(text: string): unknown {
  return bareTree(parseFilter(text, limits).filter);
}

function value(text: string): unknown {
  const node = parseFilter(`a = ${text}`, limits).filter;
  return node.kind === 'comparison' && node.value.kind === 'literal' ? node.value.value : node;
}

const bare = (text: string): unknown => ({ bare: text, text });
const one = { bare: 1, text: '1' };

describe('Comparators in $filter', () => {
  it.each([
    ['a=1', '='],
    ['a == 1', '='],
    ['a===1', '==='],
    ['a is 1', '==='],
    ['a IS 1', '==='],
    ['a!=1', '!='],
    ['a !== 1', '!=='],
    ['a#1', '!='],
    ['a Is  nOt 1', '!=='],
    ['a<1', '<'],
    ['a <= 1', '<='],
    ['a>1', '>'],
    ['a\t>=\n1', '>='],
    ['a BEGIN 1', 'begin'],
    ['a Contains 1', 'contains'],
    ['a%1', '%'],
    ['a % 1', '%'],
  ])('are read: %s has %s', (text, comparator) => {
    expect(tree(text)).toEqual(['a', comparator, one]);
  });

  it('need no space between a word and a quote', () => {
    expect(tree("a begin'Par'")).toEqual(['a', 'begin', { quoted: 'Par' }]);
    expect(tree("a IS NOT'x'")).toEqual(['a', '!==', { quoted: 'x' }]);
    expect(tree('a contains"x"')).toEqual(['a', 'contains', { quoted: 'x' }]);
    expect(tree('a in["x"]')).toEqual(['a', 'in', [{ quoted: 'x' }]]);
  });

  it('are not found in longer words', () => {
    expect(tree('a is nothing')).toEqual(['a', '===', bare('nothing')]);
    expect(tree('a is NOT1')).toEqual(['a', '===', bare('NOT1')]);
    expect(tree('a is in Paris')).toEqual(['a', '===', bare('in Paris')]);
    expect(tree('a is Inn [1]')).toEqual(['a', '===', bare('Inn [1]')]);
    expect(refusalOf(() => tree('a isnull')).code).toBe(1162);
  });
});

describe('Values in $filter', () => {
  it.each([
    ["'Paris'", 'Paris'],
    ['"Paris"', 'Paris'],
    ["''", ''],
    [`'say "hi"'`, 'say "hi"'],
    [`"O'Reilly"`, "O'Reilly"],
    [String.raw`'O\u0027Reilly'`, "O'Reilly"],
    [String.raw`'O\'Reilly'`, "O'Reilly"],
    [String.raw`"\"\\\u0022"`, '"\\"'],
    [String.raw`'\\u0027'`, String.raw`\u0027`],
    [String.raw`'\ud83d\ude00'`, '😀'],
    [String.raw`'\u00E9\u00e9'`, 'éé'],
    ["'a AND b) OR (c'", 'a AND b) OR (c'],
    ["' x '", ' x '],
    ["'true'", 'true'],
    ["'null'", 'null'],
    ["'12'", '12'],
    ["'a\u2028b\u0000'", 'a\u2028b\u0000'],
  ])('are read in quotes: %s', (text, want) => {
    expect(value(text)).toBe(want);
  });

  it.each([
    ["O'Reilly", "O'Reilly"],
    ['  Saint Paul  ', 'Saint Paul'],
    [String.raw`O\u0027Reilly`, "O'Reilly"],
    [String.raw`\u0022x\u0022`, '"x"'],
    ['5" pipe', '5" pipe'],
    ['Acme (Paris)', 'Acme (Paris)'],
    ['a(b(c))d', 'a(b(c))d'],
    ['Andorra', 'Andorra'],
    ['Oregon', 'Oregon'],
    ['Saint-Or or-else', 'Saint-Or or-else'],
    ['exceptional and_more', 'exceptional and_more'],
    ['#ff0000', '#ff0000'],
    ['C#', 'C#'],
    ['Yahoo!', 'Yahoo!'],
    ['10:30', '10:30'],
    ['2020-01-02', '2020-01-02'],
    ['2020-01-02T10:00:00Z', '2020-01-02T10:00:00Z'],
    ['a@b.example', 'a@b.example'],
    ['Ωμέγα', 'Ωμέγα'],
    ['e\u0301', 'e\u0301'],
    ['a\u2028b', 'a\u2028b'],
    ['x\u00a0', 'x\u00a0'],
    ['True', 'True'],
    ['border', 'border'],
    ['order form', 'order form'],
    ['1,5', '1,5'],
    ['1 000', '1 000'],
    ['-', '-'],
    ['1.', '1.'],
    ['.5', '.5'],
    ['0x10', '0x10'],
    ['Infinity', 'Infinity'],
  ])('are read as bare texts: %s', (text, want) => {
    expect(value(text)).toBe(want);
  });

  it.each([
    ['0', 0],
    ['-1', -1],
    ['+1', 1],
    ['007', 7],
    ['1.50', 1.5],
    ['1e3', 1000],
    ['1.5E-2', 0.015],
    ['1e999', Infinity],
  ])('are read as numbers: %s', (text, want) => {
    expect(tree(`a = ${text}`)).toEqual(['a', '=', { bare: want, text }]);
  });

  it('include booleans in lower case, and null in any case', () => {
    expect(value('true')).toBe(true);
    expect(value('false')).toBe(false);
    for (const text of ['null', 'NULL', 'Null'])
      expect(tree(`a != ${text}`)).toEqual(['a', '!=', null]);
    expect(tree('(a is null)')).toEqual(['a', '===', null]);
    expect(value('nullable')).toBe('nullable');
  });

  it('end a bare value at a connective, wherever it is', () => {
    const joined = (link: string): unknown => [link, ['a', '=', bare('x y')], ['b', '=', one]];
    for (const link of [' AND ', ' and ', '&', '&&', ' & ']) {
      expect(tree(`a = x y${link}b=1`)).toEqual(joined('and'));
    }
    for (const link of ['\tor\n', '|', '||'])
      expect(tree(`a = x y${link}b=1`)).toEqual(joined('or'));
    expect(tree('a = x y EXCEPT(b=1)')).toEqual(joined('except'));
    expect(tree('(a = x y)AND b=1')).toEqual(joined('and'));
    expect(tree("a='x'AND b=1")).toEqual(['and', ['a', '=', { quoted: 'x' }], ['b', '=', one]]);
  });

  it('can be placeholders', () => {
    expect(tree('a=:1')).toEqual(['a', '=', { placeholder: 0 }]);
    expect(tree('(a=:128)')).toEqual(['a', '=', { placeholder: 127 }]);
    expect(tree('a=:city')).toEqual(['a', '=', { placeholder: 'city' }]);
    expect(tree('(a=:_x.名前.1&b<:y2)')).toEqual([
      'and',
      ['a', '=', { placeholder: '_x.名前.1' }],
      ['b', '<', { placeholder: 'y2' }],
    ]);
  });
});

describe('Paths in $filter', () => {
  it.each(['and', 'OR', 'not', 'begin', 'is', 'null', 'true', 'eval', 'in', 'order', 'except'])(
    'may contain an attribute named %s',
    (name) => {
      expect(tree(`${name} = 1`)).toEqual([name, '=', one]);
      expect(tree(`a=1 AND ${name} = 1`)).toEqual(['and', ['a', '=', one], [name, '=', one]]);
      expect(tree(`${name}.${name} is 1`)).toEqual([`${name}.${name}`, '===', one]);
      expect(tree(`${name} in [1]`)).toEqual([name, 'in', [one]]);
    },
  );

  it.each(['__KEY', 'prénom', '名前', '𐐀𐐁', 'a1', 'employer.staff.name'])(
    'may contain %s',
    (path) => {
      expect(tree(`${path}=1`)).toEqual([path, '=', one]);
    },
  );

  it('keep the offset of every step', () => {
    const node = parseFilter(' boss.name  = x y AND b = 1', limits).filter;
    expect(node).toMatchObject({
      left: {
        path: {
          start: 1,
          end: 10,
          steps: [
            { name: 'boss', start: 1, end: 5 },
            { name: 'name', start: 6, end: 10 },
          ],
        },
        value: { start: 14, end: 17 },
      },
    });
  });
});

describe('Brackets and braces in paths of $filter', () => {
  it.each([
    ['staff{2}.name=1', 'staff{2}.name'],
    ['staff{1}.name=1', 'staff.name'],
    ['staff{0009}.team{9999}.name=1', 'staff{9}.team{9999}.name'],
    ['extra.list[]=1', 'extra.list[]'],
    ['extra.list[].x=1', 'extra.list[].x'],
    ['extra.list[a].x.y[B].z=1', 'extra.list[a].x.y[b].z'],
    ['a{2}[z]=1', 'a{2}[z]'],
    ['in[a]=1', 'in[a]'],
  ])('are read: %s has the path %s', (text, path) => {
    expect(tree(text)).toEqual([path, '=', one]);
  });

  it('are part of their step', () => {
    const { filter } = parseFilter('staff{2}.list[a] = 1', limits);
    expect(filter).toMatchObject({
      path: {
        start: 0,
        end: 16,
        steps: [
          { name: 'staff', ordinal: 2, element: undefined, start: 0, end: 8 },
          { name: 'list', ordinal: 1, element: 'a', start: 9, end: 16 },
        ],
      },
    });
  });

  it('can belong to a placeholder for a path', () => {
    expect(tree(':1 = :2')).toEqual([{ path: 0 }, '=', { placeholder: 1 }]);
    expect(tree('NOT (:field.name in:values)')).toEqual([
      'not',
      [{ path: 'field.name' }, 'in', { placeholder: 'values' }],
    ]);
  });
});

describe('A list in $filter', () => {
  it.each([
    ['[]', []],
    ['[ ]', []],
    ['[1]', [one]],
    ['[ 1 , -2.5 ]', [one, { bare: -2.5, text: '-2.5' }]],
    [`['a',"b, ]",'']`, [{ quoted: 'a' }, { quoted: 'b, ]' }, { quoted: '' }]],
    ['[Saint Paul, OR, a and b, x]', [bare('Saint Paul'), bare('OR'), bare('a and b'), bare('x')]],
    ['[null,NULL,nullable]', [null, null, bare('nullable')]],
    [
      '[true,false,True]',
      [{ bare: true, text: 'true' }, { bare: false, text: 'false' }, bare('True')],
    ],
    ['[:1,:x.y, :2 ]', [{ placeholder: 0 }, { placeholder: 'x.y' }, { placeholder: 1 }]],
    ["[O'Reilly,a=b,(x),10:30]", [bare("O'Reilly"), bare('a=b'), bare('(x)'), bare('10:30')]],
    [String.raw`['O\u0027Reilly',O\u0027Reilly]`, [{ quoted: "O'Reilly" }, bare("O'Reilly")]],
    ['[a & b|c]', [bare('a & b|c')]],
  ])('is read: %s', (text, items) => {
    expect(tree(`a IN ${text}`)).toEqual(['a', 'in', items]);
    expect(tree(`(a in${text})and b=1`)).toEqual(['and', ['a', 'in', items], ['b', '=', one]]);
  });

  it('can be a placeholder', () => {
    expect(tree('a IN :1')).toEqual(['a', 'in', { placeholder: 0 }]);
  });
});

describe('The order by in $filter', () => {
  it.each([
    ['a=1 order by b desc, c', ' b desc, c', 12],
    ["a='x'ORDER  BY b", ' b', 14],
    ['a=x y Order\tby\nb', '\nb', 14],
    ['(a=1)order by', '', 13],
    ['a in [1] order by b', ' b', 17],
    ['a=null order by b', ' b', 15],
    ['order = 1 order by order', ' order', 18],
  ])('is read: %j has %j', (text, order, start) => {
    expect(parseFilter(text, limits).orderBy).toEqual({ text: order, start });
  });

  it('is not found inside a value, a path or a list', () => {
    for (const text of ["a='order by b'", 'order.by=1', 'a in [order by b]', 'a=border by b']) {
      expect(parseFilter(text, limits).orderBy).toBeUndefined();
    }
  });
});

describe('The precedence of AND, OR, EXCEPT and NOT in $filter', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => [name, '=', one]);
  it.each([
    ['a=1 OR b=1 AND c=1', ['or', a, ['and', b, c]]],
    ['a=1 AND b=1 OR c=1', ['or', ['and', a, b], c]],
    ['a=1 OR b=1 OR c=1', ['or', ['or', a, b], c]],
    ['a=1 AND b=1 EXCEPT c=1 AND d=1', ['and', ['except', ['and', a, b], c], d]],
    ['a=1 OR b=1 EXCEPT c=1 OR d=1', ['or', ['or', a, ['except', b, c]], d]],
    ['(a=1 OR b=1) AND c=1', ['and', ['or', a, b], c]],
    ['a=1 AND (b=1 AND (c=1))', ['and', a, ['and', b, c]]],
    ['NOT (a=1 OR b=1) AND c=1', ['and', ['not', ['or', a, b]], c]],
    ['not(not((a=1)))', ['not', ['not', a]]],
  ])('is that of %s', (text, want) => {
    expect(tree(text)).toEqual(want);
  });
});

describe('A wrong $filter', () => {
  it.each([
    ['', 1, 'expected an attribute, NOT or an opening parenthesis, found the end'],
    ['   ', 4, 'found the end'],
    [
      'a',
      2,
      'expected a comparator (=, !=, <, <=, >, >=, begin, contains, %, IN, IS, IS NOT), found the end',
    ],
    ['a foo', 3, 'found "foo"'],
    ['a 😀', 3, 'found "😀"'],
    ['a.', 3, 'expected a name after the dot, found the end'],
    ['a..b=1', 3, 'expected a name after the dot, found "."'],
    ['.a=1', 1, 'found "."'],
    ['a-b=1', 2, 'found "-"'],
    ['"city" = 1', 1, 'found "\\""'],
    ['a=', 3, 'expected a value, found the end'],
    ['a= AND b=1', 4, 'expected a value, found "AND"; a value that is such a word must be quoted'],
    ['state = OR', 9, 'must be quoted'],
    ['a=)', 3, 'expected a value, found ")"'],
    ['a=&b=1', 3, 'expected a value'],
    ['a<>1', 2, 'what <> means elsewhere is != here'],
    ['a=>1', 3, 'expected a value, found ">"'],
    ['a=!1', 3, 'expected a value, found "!"'],
    ['a====1', 5, 'expected a value, found "="'],
    ['a!1', 2, 'expected a comparator'],
    ['a=(1)', 3, 'one that begins with a parenthesis must be quoted'],
    ['a=x (y', 3, 'unclosed parenthesis'],
    ['a=1 b=2', 6, 'a value with = must be quoted, or an AND or OR is missing before'],
    ['a!=1 b>2', 7, 'a value with > must be quoted'],
    [String.raw`a=C:\temp`, 5, 'the backslash doubled'],
    [String.raw`a=\u00e9`, 3, 'must be quoted'],
    ["a='x", 3, 'lacks its closing single quote'],
    ['a="x', 3, 'lacks its closing double quote'],
    ["a='x\\", 5, 'after a backslash'],
    [String.raw`a='\n'`, 4, 'after a backslash'],
    [String.raw`a='\u00g0'`, 4, 'after a backslash'],
    [String.raw`a='\u12`, 4, 'after a backslash'],
    [String.raw`a='\ud800'`, 3, 'half of a surrogate pair'],
    ["a='\udc00'", 4, 'half of a surrogate pair'],
    ["a='O'Reilly'", 6, 'expected AND, OR, EXCEPT or the end, found "Reilly"'],
    ["a='O''Reilly'", 6, 'a quote inside a quoted value is written \\u0027 or \\u0022'],
    ["a='x' b", 7, 'expected AND, OR, EXCEPT or the end, found "b"'],
    ['(a=1', 1, 'this parenthesis is not closed'],
    ['(a=1 AND NOT (b=1)', 1, 'this parenthesis is not closed'],
    ['a=1)', 4, 'this parenthesis closes none that was opened'],
    ['()', 2, 'found ")"'],
    ['a=1 AND', 8, 'found the end'],
    ['a=1 && && b=1', 8, 'found "&"'],
    ['NOT a=1', 5, 'expected an opening parenthesis after NOT, found "a"'],
    ['a=:', 3, 'a placeholder is a colon and a number from 1 to 128, or a colon and a name'],
    ['a=:!', 3, 'a placeholder is'],
    ['a=:0', 3, 'a placeholder is'],
    ['a=:129', 3, 'a placeholder is'],
    ['a=:999999', 3, 'a placeholder is'],
    ['a=:1x', 3, 'a placeholder is'],
    ['a=:x.', 6, 'expected a name after the dot, found the end'],
    ['a=:x..y', 6, 'expected a name after the dot, found "."'],
    ['a=:1.5', 5, 'expected AND'],
    ['a=:1 2', 6, 'expected AND'],
    [':1', 3, 'expected a comparator'],
    [':1.a = 2', 3, 'expected a comparator'],
    [':0 = 2', 1, 'a placeholder is'],
    ['a.:1 = 2', 3, 'expected a name after the dot, found ":"'],
    ['a in', 5, 'expected a list in brackets or a placeholder behind IN, found the end'],
    ['a in x', 6, 'expected a list in brackets or a placeholder behind IN, found "x"'],
    ["a in 'x'", 6, 'expected a list'],
    ['a in (1,2)', 6, 'expected a list in brackets or a placeholder behind IN, found "("'],
    ['a in null', 6, 'expected a list'],
    ['a in [', 7, 'expected a value, found the end'],
    ['a in [1', 6, 'this list lacks its closing bracket'],
    ["a in ['x' AND b=1", 11, 'expected a comma or the closing bracket of the list, found "AND"'],
    ['a in [1, b AND c=1', 6, 'this list lacks its closing bracket'],
    ['a in [,1]', 7, 'expected a value, found ","'],
    ['a in [1,]', 9, 'expected a value, found "]"'],
    ['a in [1,,2]', 9, 'expected a value, found ","'],
    ['a in [[1]]', 7, 'a value with a bracket must be quoted in a list'],
    ['a in [x[1]]', 8, 'a value with a bracket must be quoted in a list'],
    ['a in [:1 2]', 10, 'expected a comma or the closing bracket'],
    ['a in [:0]', 7, 'a placeholder is'],
    ["a in ['x]", 7, 'lacks its closing single quote'],
    [String.raw`a in [C:\temp]`, 9, 'the backslash doubled'],
    ['a in [1]]', 9, 'expected AND'],
    [
      'a = [1]',
      5,
      'a list stands behind IN only; a value that begins with a bracket must be quoted',
    ],
    ['a is [1]', 6, 'a list stands behind IN only'],
    ['a contains [1]', 12, 'a list stands behind IN only'],
    ['a NOT IN [1]', 3, 'there is no comparator NOT IN; write NOT (attribute IN [...])'],
    ['a not  begin b', 3, 'there is no comparator NOT begin; write NOT (attribute begin ...)'],
    ['a is in [1]', 3, 'expected IN alone, without IS'],
    ['a is not in[1]', 3, 'there is no comparator IS NOT IN; write NOT (attribute IN [...])'],
    ['a not b', 3, 'expected a comparator'],
    ['a like b', 3, 'expected a comparator'],
    ['a[', 3, 'expected a closing bracket or one letter, found the end'],
    ['a[1].b=1', 3, 'expected a closing bracket or one letter, found "1"'],
    ['a[ab].b=1', 4, 'expected a closing bracket, found "b"'],
    ['a[é]=1', 3, 'expected a closing bracket or one letter'],
    ['a[][]=1', 4, 'expected a comparator'],
    ['a[]b=1', 4, 'expected a comparator'],
    ['a[]{2}=1', 4, 'expected a comparator'],
    ['a{', 3, 'expected a number from 1 to 9999 in the braces, found the end'],
    ['a{}.b=1', 3, 'expected a number from 1 to 9999 in the braces, found "}"'],
    ['a{0}.b=1', 3, 'expected a number from 1 to 9999'],
    ['a{10000}.b=1', 3, 'expected a number from 1 to 9999'],
    ['a{-1}.b=1', 3, 'expected a number from 1 to 9999'],
    ['a{2.b=1', 4, 'expected a closing brace, found "."'],
    ['a{2x}=1', 4, 'expected a closing brace, found "x"'],
    ['(a=1 order by b)', 1, 'this parenthesis is not closed'],
    ['order by b', 1, 'expected a comparison before order by; $orderby orders without a filter'],
    ['a=1 AND order by b', 9, 'expected a comparison before order by'],
  ])('is refused: %j at character %i: %s', (text, position, problem) => {
    const { status, code, message } = refusalOf(() => tree(text));
    expect({ status, code }).toEqual({ status: 400, code: 1162 });
    expect(message).toContain(problem);
    expect(message).toMatch(new RegExp(`^Character ${position} of \\$filter: .*\\.$`, 's'));
  });

  it('is refused with a code of its own if it has formulas', () => {
    for (const text of ['eval(This.a == 1)', 'EVAL ( 1 )', 'a=1 AND eval(true)']) {
      expect(refusalOf(() => tree(text)).code).toBe(1278);
    }
    expect(refusalOf(() => tree('other(1)')).code).toBe(1162);
  });

  it('is quoted only in a short part', () => {
    const { message } = refusalOf(() => tree(`a ${'x😀'.repeat(5000)}`));
    expect(message.length).toBeLessThan(150);
    expect(refusalOf(() => tree(`a ${'𐐀'.repeat(5000)}`)).message).not.toMatch(/\p{Surrogate}/u);
  });
});

describe('The limits of $filter', () => {
  it('count nested parentheses, including those of NOT', () => {
    const nested = (depth: number): string =>
      '(NOT ('.repeat(depth / 2) + 'a=1' + '))'.repeat(depth / 2);
    expect(isServed(() => tree(nested(64)))).toBe(true);
    const { code, message } = refusalOf(() => tree(nested(66)));
    expect(code).toBe(1162);
    expect(message).toContain('must not nest deeper than 64 levels');
    expect(tree('(a=1) AND '.repeat(100) + '(a=1)')).toBeDefined();
  });

  it('apply to the length', () => {
    const exact = `a='${'x'.repeat(limits.filterLength - 4)}'`;
    expect(isServed(() => tree(exact))).toBe(true);
    const { code, message } = refusalOf(() => tree(`${exact} `));
    expect(code).toBe(1162);
    expect(message).toContain('must not be longer than 16384 characters');
  });

  it('apply to the number of conditions, including nulls', () => {
    for (const condition of ['a=1', 'a=null']) {
      const many = (count: number): string => Array(count).fill(condition).join('&');
      expect(isServed(() => tree(many(500)))).toBe(true);
      const { code, message } = refusalOf(() => tree(many(501)));
      expect(code).toBe(1162);
      expect(message).toBe(
        `Character ${many(500).length + 2} of $filter: a filter has at most 500 conditions.`,
      );
    }
  });

  it('apply to lists and paths', () => {
    const list = (count: number): string => `a in [${Array(count).fill('1').join()}]`;
    expect(isServed(() => tree(list(1_000)))).toBe(true);
    expect(refusalOf(() => tree(list(1_001)))).toMatchObject({
      code: 1162,
      message: `Character ${list(1_000).length + 1} of $filter: a list has at most 1000 values.`,
    });
    expect(isServed(() => tree(`${'a.'.repeat(63)}a=1`))).toBe(true);
    expect(refusalOf(() => tree(`${'a.'.repeat(64)}a=1`))).toMatchObject({
      code: 1162,
      message: 'Character 129 of $filter: a path has at most 64 names.',
    });
  });

  it('protect the stack at any depth', () => {
    const deep: SyntaxLimits = {
      filterLength: 10_000_000,
      filterDepth: 1_000_000,
      conditions: 1_000_000,
      listSize: 1,
    };
    const texts = [
      '('.repeat(200_000) + 'a=1' + ')'.repeat(200_000),
      'NOT('.repeat(100_000) + 'a=1' + ')'.repeat(100_000),
      'a=1 AND '.repeat(100_000) + 'a=1',
      'a=1 OR (b=2 EXCEPT '.repeat(50_000) + 'a=1' + ')'.repeat(50_000),
    ];
    for (const text of texts) expect(parseFilter(text, deep)).toBeDefined();
  });
});

describe('Any text of $filter', () => {
  const pieces = [
    'a',
    'b.c',
    '.',
    '=',
    '!=',
    '<',
    '>=',
    '#',
    ' ',
    '\t',
    '(',
    ')',
    'NOT',
    'AND',
    'or',
    'EXCEPT',
    'IS',
    'begin',
    'null',
    'true',
    '1',
    '-2.5e3',
    ':1',
    ':',
    "'",
    '"',
    '\\',
    '\\u0027',
    '&',
    '|',
    '[',
    ']',
    '{',
    'eval(',
    'order by',
    '2020-01-02',
    'é',
    '𐐀',
    '\ud800',
    '\u2028',
    '%',
    'in',
    ',',
  ];

  it('is parsed or refused, never anything else', () => {
    const soup = fc
      .array(fc.constantFrom(...pieces), { maxLength: 40 })
      .map((parts) => parts.join(''));
    const text = fc.oneof(soup, fc.string({ unit: anyCharacter }), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(text, (filter) => {
        if (!isServed(() => parseFilter(filter, limits))) {
          expect(refusalOf(() => parseFilter(filter, limits)).message).toMatch(
            /^Character \d+ of \$filter: /,
          );
        }
      }),
      { numRuns: 3000 },
    );
  });

  it.each(pieces)('is parsed or refused if it repeats %j', (piece) => {
    for (const start of ['', 'a=', "a='", 'a=x ']) {
      const text = start + piece.repeat(Math.floor(16_000 / piece.length));
      expect(isServed(() => parseFilter(text, limits))).toBeTypeOf('boolean');
    }
  });
});
