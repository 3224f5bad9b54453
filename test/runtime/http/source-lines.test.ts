import { SourceMap, type SourceMapPayload } from 'node:module';
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { SourceLines } from '../../../runtime/http/mapped-stacks.js';

/** A program of about 3,000 lines, and the map of what TypeScript makes of it. */
function longMap(): { readonly code: string; readonly map: string } {
  const source = readFileSync('runtime/http/function-service.ts', 'utf8');
  const text = Array.from({ length: 20 }, (_, part) =>
    source.replace(/^import.*$/gm, `/* part ${part} */`),
  ).join('\n');
  const options = { sourceMap: true, target: ts.ScriptTarget.ES2023 };
  const { outputText, sourceMapText = '' } = ts.transpileModule(text, {
    compilerOptions: options,
    fileName: 'long.ts',
  });
  return { code: outputText, map: sourceMapText };
}

describe('SourceLines', () => {
  const { code, map } = longMap();
  const wanted = new SourceMap(JSON.parse(map) as SourceMapPayload);
  const lengths = code.split('\n').map(({ length }) => length);

  function expectSame(lines: SourceLines, line: number, column: number): void {
    const entry = wanted.findEntry(line, column);
    // Where a line has nothing before the column, Node tells of the line before.
    const isOfLine = 'generatedLine' in entry && entry.generatedLine === line;
    const place = isOfLine
      ? { file: 'long.ts', line: entry.originalLine, column: entry.originalColumn }
      : undefined;
    expect({ line, column, place: lines.find(line, column) }).toEqual({ line, column, place });
  }

  it('finds what Node finds, in any order', () => {
    expect(lengths.length).toBeGreaterThan(2000);
    const lines = new SourceLines(map);
    for (let number = 0; number < lengths.length; number += 1) {
      // Far apart, one after the other.
      const line = (number * 1009) % lengths.length;
      const length = lengths[line] ?? 0;
      for (const column of [0, Math.floor(length / 2)]) expectSame(lines, line, column);
    }
  });

  it('finds nothing behind the end', () => {
    expect(new SourceLines(map).find(lengths.length + 1000, 0)).toBeUndefined();
  });

  it('finds nothing where nothing has a source', () => {
    const text = JSON.stringify({ version: 3, sources: ['a.ts'], mappings: 'A,IAAA;;E' });
    const lines = new SourceLines(text);
    expect(lines.find(0, 2)).toBeUndefined();
    expect(lines.find(0, 4)).toEqual({ file: 'a.ts', line: 0, column: 0 });
    expect(lines.find(1, 0)).toBeUndefined();
    expect(lines.find(2, 9)).toBeUndefined();
  });
});
