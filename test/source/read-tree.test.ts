import { describe, expect, it } from 'vitest';
import { plainValue } from '../../generator/source/plain-value.js';
import { lineStarts, positionAt } from '../../generator/source/position.js';
import { readTree } from '../../generator/source/read-tree.js';
import { child, entry } from '../../generator/source/tree.js';

function read(text: string): unknown {
  const { root, problems } = readTree('m.yaml', text);
  expect(problems).toEqual([]);
  // Mappings have no prototype, which toEqual would report.
  return root === undefined ? undefined : JSON.parse(JSON.stringify(plainValue(root)));
}

describe('The values of a model file', () => {
  const table: readonly (readonly [string, string, unknown])[] = [
    ['YAML', 'a: 1\nb: [x, true, null, 1.5]\n', { a: 1, b: ['x', true, null, 1.5] }],
    ['JSON with tabs', '{\n\t"a": {\n\t\t"b": 2\n\t}\n}', { a: { b: 2 } }],
    ['lines that end with CR LF', 'a: 1\r\nb:\r\n  c: x\r\n', { a: 1, b: { c: 'x' } }],
    [
      'plain values by the core schema only',
      'a: no\nb: 2026-01-31\nc: 0x10\nd: 010',
      { a: 'no', b: '2026-01-31', c: 16, d: 10 },
    ],
    [
      'keys that look like something else',
      '1: a\ntrue: b\nnull: c',
      { '1': 'a', true: 'b', null: 'c' },
    ],
    ['aliases', 'a: &x { b: 1 }\nc: *x', { a: { b: 1 }, c: { b: 1 } }],
    ['the last anchor of a name', 'a: &x 1\nb: &x 2\nc: *x', { a: 1, b: 2, c: 2 }],
    [
      'merged mappings',
      'a: &x { b: 1, c: 2 }\nd:\n  <<: *x\n  c: 3',
      { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } },
    ],
    [
      'a list of merged mappings',
      'a: &x { b: 1 }\nc: &y { b: 2, d: 3 }\ne: { <<: [*x, *y] }',
      { a: { b: 1 }, c: { b: 2, d: 3 }, e: { b: 1, d: 3 } },
    ],
    ['YAML 1.1 as from YAML 1.2', '%YAML 1.1\n---\na: yes', { a: 'yes' }],
    ['keys without value', 'a:\nb: { c }', { a: null, b: { c: null } }],
  ];
  for (const [name, text, wanted] of table) {
    it(`are read from ${name}`, () => {
      expect(read(text)).toEqual(wanted);
    });
  }

  it('include __proto__ as an ordinary key', () => {
    const { root } = readTree('m.yaml', '__proto__: { polluted: true }');
    expect(root && Object.keys(plainValue(root) as object)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('The places in a model file', () => {
  const text = 'a:\r\n  b: [x, "long text"]\n\tü: 1'.replace('\t', '');
  const { root } = readTree('m.yaml', text);

  it('are known for keys and values', () => {
    const found = entry(child(root, 'a'), 'b');
    expect(text.slice(found?.key.start, found?.key.end)).toBe('b');
    expect(text.slice(found?.value.start, found?.value.end)).toBe('[x, "long text"]');
    expect(found?.value.path).toBe('a.b');
    const items = found?.value.kind === 'list' ? found.value.items : [];
    expect(items.map(({ start, end, path }) => [text.slice(start, end), path])).toEqual([
      ['x', 'a.b[0]'],
      ['"long text"', 'a.b[1]'],
    ]);
  });

  it('of an alias are those of its anchor', () => {
    const { root: aliased } = readTree('m.yaml', 'a: &x { b: 1 }\nc: *x');
    const found = child(child(aliased, 'c'), 'b');
    expect([found?.start, found?.path]).toEqual([11, 'c.b']);
  });

  it('are lines and columns that count from 1', () => {
    const starts = lineStarts('ab\n\tc\r\n\n😀d');
    const table = [
      [0, 1, 1],
      [2, 1, 3],
      [3, 2, 1],
      [4, 2, 2],
      [7, 3, 1],
      [8, 4, 1],
      [10, 4, 3],
      [11, 4, 4],
    ];
    for (const [offset = 0, line, column] of table) {
      expect(positionAt(starts, offset)).toEqual({ line, column });
    }
  });
});
