import { describe, expect, it } from 'vitest';
import { readTableDefinition, wordsOf } from '../../../runtime/dialect/table-definition.js';

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
  ])('are found in a list %s', (_, list, names) => {
    const { parts } = readTableDefinition(`CREATE TABLE "x (y" (${list})`);
    expect(parts.map(({ name }) => `"${name.replaceAll('"', '""')}"`)).toEqual(names);
  });

  it('keep their text', () => {
    const { parts } = readTableDefinition('CREATE TABLE x ( "a"  TEXT CHECK ("a" > 1) , b )');
    expect(parts.map(({ text }) => text)).toEqual(['"a"  TEXT CHECK ("a" > 1)', 'b']);
  });

  it('are not the constraints', () => {
    const { parts } = readTableDefinition('CREATE TABLE x ("CHECK" (1), CHECK (1), unique (a))');
    expect(parts.map(({ isConstraint }) => isConstraint)).toEqual([false, true, true]);
  });

  it('do not include the options of the table', () => {
    expect(readTableDefinition('CREATE TABLE x (a) without  rowid, STRICT').options).toBe(
      'without rowid , STRICT',
    );
  });

  it('may contain long texts', () => {
    const text = "''".repeat(1_000_000);
    const { parts } = readTableDefinition(`CREATE TABLE x ("a" CHECK ("a" <> '${text}'), b)`);
    expect(parts).toHaveLength(2);
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
