import { describe, expect, it } from 'vitest';
import pico from 'picocolors';
import { plain } from '../../generator/cli/colors.js';
import { diagnosticsJson } from '../../generator/cli/diagnostics-json.js';
import { countText, renderDiagnostics } from '../../generator/cli/render-diagnostics.js';
import type { Diagnostic } from '../../generator/source/diagnostic.js';

/** Makes a problem at the place that `«` and `»` mark in a source. */
function marked(text: string, changes: Partial<Diagnostic> = {}) {
  const start = text.indexOf('«');
  const source = text.replace('«', '').replace('»', '');
  const end = text.includes('»') ? text.indexOf('»') - 1 : start;
  const problem: Diagnostic = {
    code: 'relation/unknown-target',
    severity: 'error',
    message: 'boss leads to Persn, and no dataclass has that name.',
    origin: { file: 'staff.yaml', start, end },
    path: 'dataclasses.Employee.attributes.boss.to',
    ...changes,
  };
  return { problem, sources: new Map([['staff.yaml', source]]) };
}

function render(text: string, changes: Partial<Diagnostic> = {}, width = 80): string {
  const { problem, sources } = marked(text, changes);
  return renderDiagnostics([problem], sources, { colors: plain, width });
}

/** The lines of the code frame alone. */
function frame(text: string, width = 80): string {
  return render(text, { path: '' }, width).split('\n\n')[1] ?? '';
}

describe('A problem', () => {
  it('is shown with its place, its path and the source', () => {
    const text = 'dataclasses:\n  Employee:\n    attributes:\n      boss:\n        to: «Persn»\n';
    expect(render(text, { help: 'did you mean Person?' })).toMatchInlineSnapshot(`
      "staff.yaml:5:13  error  relation/unknown-target
        boss leads to Persn, and no dataclass has that name.
        at dataclasses.Employee.attributes.boss.to

        4 |       boss:
        5 |         to: Persn
          |             ^^^^^ did you mean Person?

      1 error
      "
    `);
  });

  it('is shown without the source when there is none', () => {
    const { problem } = marked('«x»', { path: '', help: 'try again' });
    const text = renderDiagnostics([problem], new Map(), { colors: plain, width: 80 });
    expect(text).toMatchInlineSnapshot(`
      "staff.yaml  error  relation/unknown-target
        boss leads to Persn, and no dataclass has that name.
        try again

      1 error
      "
    `);
  });

  it('has its help below when there is no room on the right', () => {
    const help = 'did you mean Person, or perhaps one of the others?';
    expect(render('a: «Persn»', { help, path: '' }, 50)).toMatchInlineSnapshot(`
      "staff.yaml:1:4  error  relation/unknown-target
        boss leads to Persn, and no dataclass has that name.

        1 | a: Persn
          |    ^^^^^
          | did you mean Person, or perhaps one of the others?

      1 error
      "
    `);
  });

  it('is counted together with the others', () => {
    const { problem } = marked('«x»');
    expect(countText([problem])).toBe('1 error');
    const warning = { ...problem, severity: 'warning' as const };
    expect(countText([warning, problem, warning, problem])).toBe('2 errors, 2 warnings');
    expect(renderDiagnostics([], new Map(), { colors: plain, width: 80 })).toBe('');
  });

  it('is coloured', () => {
    const { problem, sources } = marked('a: «x»');
    const colors = pico.createColors(true);
    expect(renderDiagnostics([problem], sources, { colors, width: 80 })).toContain('^\u001b[39m');
  });

  it('cannot send control characters to the terminal', () => {
    const evil = '\u001b[2J\u202e\u0007';
    const text = render(`a: «${evil}»`, { message: evil, path: evil, code: evil, help: evil });
    expect(text).not.toMatch(/[\u001b\u202e\u0007]/);
    expect(text).toContain('<U+001B>[2J<U+202E><U+0007>');
  });
});

describe('Carets', () => {
  it.each([
    ['a word', 'a: «Persn» # x', '  1 | a: Persn # x\n    |    ^^^^^'],
    ['after a tab', 'a:\t«Persn»', '  1 | a:  Persn\n    |     ^^^^^'],
    ['after wide characters', '名前: «x»', '  1 | 名前: x\n    |       ^'],
    ['under wide characters', 'a: «名前»', '  1 | a: 名前\n    |    ^^^^'],
    ['after an emoji', '👩‍👩‍👧: «x»', '  1 | 👩‍👩‍👧: x\n    |     ^'],
    ['after a combining mark', 'e\u0301: «x»', '  1 | e\u0301: x\n    |    ^'],
    ['an empty place', 'a: «»', '  1 | a:\n    |    ^'],
    ['the end of the file', 'a: b\n«', '  1 | a: b\n  2 |\n    | ^'],
    ['an empty file', '«', '  1 |\n    | ^'],
    ['several lines', 'a: «b\n  c\n  d»\n', '  1 | a: b\n    |    ^'],
    ['a line that ends with CRLF', 'x: 1\r\na: «b\r\n c»', '  1 | x: 1\n  2 | a: b\n    |    ^'],
    ['a line below an empty one', 'x: 1\n\na: «b»', '  3 | a: b\n    |    ^'],
    ['line ten', `${'x: 1\n'.repeat(9)}a: «b»`, '   9 | x: 1\n  10 | a: b\n     |    ^'],
  ])('stand under %s', (_, text, expected) => {
    expect(frame(text)).toBe(expected.replaceAll(/ +$/gm, ''));
  });

  it('stay visible on long lines', () => {
    const text = `a: ${'x'.repeat(300)} «bad» ${'y'.repeat(300)}`;
    expect(frame(text, 50)).toMatchInlineSnapshot(`
      "  1 | …xxxxxxxxxxxxx bad yyyyyyyyyyyyyyyyyyyyyyyy…
          |                ^^^"
    `);
    for (const line of frame(text, 50).split('\n')) expect(line.length).toBeLessThanOrEqual(50);
  });

  it('stay visible at the ends of long lines', () => {
    expect(frame(`«bad» ${'y'.repeat(300)}`, 50)).toMatchInlineSnapshot(`
      "  1 | bad yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
          | ^^^"
    `);
    expect(frame(`${'x'.repeat(300)} «bad»`, 50)).toMatchInlineSnapshot(`
      "  1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx bad
          |                                         ^^^"
    `);
    expect(frame(`a: «${'x'.repeat(300)}»`, 50)).toMatchInlineSnapshot(`
      "  1 | a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
          |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    `);
  });

  it('are found in a line of a megabyte', () => {
    const text = `${'😀'.repeat(250_000)}«bad»${'😀'.repeat(250_000)}`;
    expect(frame(text, 50)).toContain('bad');
  });

  it('shorten the line above', () => {
    expect(frame(`${'x'.repeat(300)}\na: «b»`, 50)).toMatchInlineSnapshot(`
      "  1 | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        2 | a: b
          |    ^"
    `);
  });
});

describe('A problem as JSON', () => {
  it('has lines and columns from 1, in UTF-16 units', () => {
    const { problem, sources } = marked('x: 1\n😀: «a\nb»');
    expect(diagnosticsJson([problem], sources)).toEqual([
      {
        code: 'relation/unknown-target',
        severity: 'error',
        message: 'boss leads to Persn, and no dataclass has that name.',
        file: 'staff.yaml',
        line: 2,
        column: 5,
        endLine: 3,
        endColumn: 2,
        path: 'dataclasses.Employee.attributes.boss.to',
        help: null,
      },
    ]);
  });
});
