import { describe, expect, it } from 'vitest';
import { readTableDefinition, wordsOf } from '../../../runtime/dialect/table-definition.js';

function normals(list: string, options = ''): readonly string[] {
  return readTableDefinition(`CREATE TABLE "T" (${list})${options}`).parts.map(
    ({ normal }) => normal,
  );
}

describe('The columns of a table', () => {
  it.each([
    ['on one line', '"a" TEXT, "b" INTEGER', ['"a"', '"b"']],
    ['with a comma in parentheses', '"a" TEXT CHECK ("a" IN (1, 2)), "b"', ['"a"', '"b"']],
    ['with a comma in a text', `"a" CHECK ("a" <> 'x, (y'), "b"`, ['"a"', '"b"']],
    ['with a quote in a text', `"a" CHECK ("a" <> 'it''s, ('), "b"`, ['"a"', '"b"']],
    [
      'with a comma in a name',
      '"a, (""b" TEXT, [c, d] TEXT, `e, f` TEXT',
      ['"a, (""b"', '"c, d"', '"e, f"'],
    ],
    ['with comments', '"a" TEXT, -- a, (b\n/* , ( */ "c" INTEGER', ['"a"', '"c"']],
    ['without quotes', 'a TEXT, größe INTEGER', ['"a"', '"größe"']],
  ])('%s', (_, list, names) => {
    const { parts } = readTableDefinition(`CREATE TABLE "x (y" (${list})`);
    expect(parts.map(({ name }) => `"${name.replaceAll('"', '""')}"`)).toEqual(names);
  });

  it('keep their text', () => {
    const { parts } = readTableDefinition('CREATE TABLE x ( "a"  TEXT CHECK ("a" > 1) , b )');
    expect(parts.map(({ text }) => text)).toEqual(['"a"  TEXT CHECK ("a" > 1)', 'b']);
  });

  it.each([
    ['spaces', '"a" TEXT CHECK ("a">1)', '"a"\n TEXT  CHECK( "a" > 1 )'],
    ['comments', '"a" TEXT', '"a" /* text */ TEXT -- more\n'],
    ['the case of words', '"a" TEXT check ("a" in (1))', '"a" text CHECK ("a" IN (1))'],
    ['the quotes of a name', '"a" TEXT', '[a] TEXT'],
    ['a name without quotes', '"a" TEXT', 'a TEXT'],
  ])('are the same with other %s', (_, one, other) => {
    expect(normals(one)).toEqual(normals(other));
  });

  it.each([
    ['text', `"a" CHECK ("a" <> 'x')`, `"a" CHECK ("a" <> 'X')`],
    ['case of a quoted name', '"a" CHECK ("b" > 1)', '"a" CHECK ("B" > 1)'],
    ['text for a name', `"a" CHECK ("a" <> 'b')`, '"a" CHECK ("a" <> "b")'],
    ['constraint for a column', '"CHECK" (1)', 'CHECK (1)'],
    ['spaces in a text', `"a" CHECK ("a" <> ' ')`, `"a" CHECK ("a" <> '  ')`],
  ])('differ with another %s', (_, one, other) => {
    expect(normals(one)).not.toEqual(normals(other));
  });

  it('do not include the options of the table', () => {
    expect(readTableDefinition('CREATE TABLE x (a) without  rowid, STRICT').options).toBe(
      'WITHOUT ROWID , STRICT',
    );
  });

  it('may contain long texts', () => {
    const text = "''".repeat(1_000_000);
    expect(normals(`"a" CHECK ("a" <> '${text}'), b`)).toHaveLength(2);
  });
});

describe('The columns that a text may name', () => {
  it.each([
    [`LENGTH ( "name" ) <= 120`, ['name']],
    [`(length(name) <= 120)`, ['name']],
    [`(name = ANY (ARRAY['firm'::text, 'a "b"'::text]))`, ['name']],
    [`( "a" || 'x' , "b""c" )`, ['a', 'b"c']],
    [`X'00' 1.5e3 "x"`, ['x']],
  ])('are those of %s', (sql, names) => {
    expect(wordsOf(sql)).toEqual(names);
  });
});
