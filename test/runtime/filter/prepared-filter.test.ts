import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { FilterNode } from '../../../runtime/filter/ast.js';
import type { FilterParams } from '../../../runtime/filter/params.js';
import { FilterParser } from '../../../runtime/filter/prepared-filter.js';
import { refusalOf } from '../refusal.js';

const parser = new FilterParser({ filterLength: 200, filterDepth: 3 });

function shape(text: string, params?: FilterParams): string {
  return parser.prepare(text, params).shape;
}

function pathsOf(filter: FilterNode): readonly (readonly string[])[] {
  if (filter.kind === 'comparison') return [filter.path.steps.map((step) => step.name)];
  if (filter.kind === 'computed') throw new Error('No parser makes it.');
  if (filter.kind === 'not') return pathsOf(filter.operand);
  return [...pathsOf(filter.left), ...pathsOf(filter.right)];
}

describe('FilterParser', () => {
  it('caches a filter, unless a parameter is part of it', () => {
    const text = "a = 'x' and b = :1";
    expect(parser.prepare(text, [1])).toBe(parser.prepare(text, [2]));
    expect(shape(':1 = :2', ['a', 1])).toBe('a = ?');
    expect(shape(':1 = :2', ['b', 1])).toBe('b = ?');
    expect(shape(':1 = :2', ['a', 1])).toBe('a = ?');
  });

  it('caches nothing of the text that a filter was cut from', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const own = new FilterParser({ filterLength: 200, filterDepth: 3 });
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 500; index += 1) {
      const address = `name = 'a text of number ${index}'${' '.repeat(60_000)}`;
      own.prepare(address.trimEnd(), undefined);
    }
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    expect(own.takesWildcards).toBe(false);
  });

  it('caches no refused filter', () => {
    expect(refusalOf(() => parser.prepare(':1 = 1', ['a.'])).code).toBe(1162);
    expect(shape(':1 = 1', ['a'])).toBe('a = ?');
    expect(refusalOf(() => parser.prepare(':1 = 1', [])).code).toBe(1279);
  });

  it('returns the order', () => {
    expect(parser.prepare('a = 1 order by b', undefined).orderBy).toEqual({
      text: ' b',
      start: 14,
    });
    expect(parser.prepare('a = 1', undefined).orderBy).toBeUndefined();
  });

  it('names the limit that a filter exceeds, before any other error', () => {
    const messages = [
      ['x'.repeat(201), 'a filter must not be longer than 200 characters'],
      ['((((', 'parentheses must not nest deeper than 3 levels'],
      [`${'a.'.repeat(64)}!`, 'a path has at most 64 names'],
    ] as const;
    for (const [text, message] of messages) {
      expect(refusalOf(() => parser.prepare(text, undefined))).toMatchObject({
        code: 1162,
        message: expect.stringContaining(message) as string,
      });
    }
    const long = new FilterParser({ filterLength: 100_000, filterDepth: 3 });
    const many = 'a=1|'.repeat(500);
    expect(long.prepare(many.slice(0, -1), undefined).sources).toHaveLength(500);
    expect(refusalOf(() => long.prepare(`${many}a=1`, undefined)).message).toBe(
      'Character 2001 of $filter: a filter has at most 500 conditions.',
    );
  });
});

describe('A path in a parameter', () => {
  it.each([
    ['city', ['city'], 'city'],
    ['staff{2}.name', ['staff', 'name'], 'staff{2}.name'],
    ['staff{1}.name', ['staff', 'name'], 'staff.name'],
    ['extra.list[A].x[]', ['extra', 'list', 'x'], 'extra.list[a].x[]'],
    ['extra.odd name', ['extra', 'odd name'], 'extra.[odd name]'],
    ['extra.a"b', ['extra', 'a"b'], 'extra."a\\"b"'],
    ['extra.=', ['extra', '='], 'extra."="'],
    ['extra.(x) AND y', ['extra', '(x) AND y'], 'extra."(x) AND y"'],
    ['extra. x ', ['extra', ' x '], 'extra.[ x ]'],
    ['extra.?[b]', ['extra', '?'], 'extra."?"[b]'],
    ['extra.:1', ['extra', ':1'], 'extra.":1"'],
    ['😀.\u0000', ['😀', '\u0000'], '"😀"."\\u0000"'],
    ['__proto__', ['__proto__'], '__proto__'],
  ])('is accepted: %j', (path, names, printed) => {
    const prepared = parser.prepare('a = 1 AND NOT (:1 = :2)', [path, 5]);
    expect(pathsOf(prepared.filter)).toEqual([['a'], names]);
    expect(prepared.shape).toBe(`a = ? AND NOT (${printed} = ?)`);
    const node = prepared.filter.kind === 'and' ? prepared.filter.right : undefined;
    expect(node).toMatchObject({
      operand: { path: { start: 15, end: 17, placeholder: { key: 0 } } },
    });
  });

  it.each([
    ['', 1, 'expected a name, found the end'],
    ['.a', 1, 'expected a name, found "."'],
    ['a.', 3, 'expected a name after the dot, found the end'],
    ['a..b', 3, 'expected a name after the dot, found "."'],
    ['a[', 3, 'expected a closing bracket or one letter, found the end'],
    ['a[1]', 3, 'expected a closing bracket or one letter, found "1"'],
    ['a[ab]', 4, 'expected a closing bracket, found "b"'],
    ['a]', 2, 'expected a dot or the end, found "]"'],
    ['a}b', 2, 'expected a dot or the end, found "}"'],
    ['a[]b', 4, 'expected a dot or the end, found "b"'],
    ['a{0}', 3, 'expected a number from 1 to 9999 in the braces'],
    ['a{x}', 3, 'expected a number from 1 to 9999 in the braces, found "x"'],
    ['a{2', 4, 'expected a closing brace, found the end'],
    ['[]', 1, 'expected a name, found "["'],
    ['a.\ud800', 3, 'half of a surrogate pair is no character'],
    [`${'a.'.repeat(64)}a`, 129, 'a path has at most 64 names'],
  ])('is refused: %j', (path, at, problem) => {
    expect(refusalOf(() => parser.prepare(' :p.q = 1', { p: { q: path } }))).toMatchObject({
      status: 400,
      code: 1162,
      message: expect.stringContaining(
        `Character 2 of $filter: in the path given by :p.q, at its character ${at}: ${problem}`,
      ) as string,
    });
  });

  it('has at most the length of a filter', () => {
    expect(shape(':1=1', ['x'.repeat(200)])).toBe(`${'x'.repeat(200)} = ?`);
    expect(refusalOf(() => shape(':1=1', ['x'.repeat(201)]))).toMatchObject({
      code: 1162,
      message:
        'Character 1 of $filter: the path given by :1 must not be longer than 200 characters.',
    });
  });
});
