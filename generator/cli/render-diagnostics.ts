import type { Diagnostic } from '../source/diagnostic.js';
import { lineStarts, positionAt } from '../source/position.js';
import { codeFrame } from './code-frame.js';
import type { Colors } from './colors.js';
import { displayWidth, printable } from './terminal-text.js';

export type Sources = ReadonlyMap<string, string>;

export interface RenderOptions {
  readonly colors: Colors;
  /** Columns that a line may take. */
  readonly width: number;
}

//  staff.yaml:14:11  error  relation/unknown-target
//    Employee.boss leads to Persn, and no dataclass has that name.
//    at dataclasses.Employee.attributes.boss.to
//
//    13 |     boss:
//    14 |       to: Persn
//       |           ^^^^^ did you mean Person?
//
//  1 error
/** All problems for a terminal, in their order, and how many there are; nothing when there are none. */
export function renderDiagnostics(
  problems: readonly Diagnostic[],
  sources: Sources,
  options: RenderOptions,
): string {
  if (problems.length === 0) return '';
  const blocks = problems.map((problem) => renderOne(problem, sources, options));
  return `${[...blocks, options.colors.bold(countText(problems))].join('\n\n')}\n`;
}

/** For instance `2 errors, 1 warning`. */
export function countText(problems: readonly Diagnostic[]): string {
  const count = (severity: Diagnostic['severity']) => {
    const found = problems.filter((problem) => problem.severity === severity).length;
    return found === 0 ? [] : [`${found} ${severity}${found === 1 ? '' : 's'}`];
  };
  return [...count('error'), ...count('warning')].join(', ');
}

function renderOne(problem: Diagnostic, sources: Sources, options: RenderOptions): string {
  const { colors } = options;
  const source = sources.get(problem.origin.file);
  const paint = problem.severity === 'error' ? colors.red : colors.yellow;
  const place = colors.bold(printable(placeText(problem, source)));
  const head = `${place}  ${paint(problem.severity)}  ${colors.dim(printable(problem.code))}`;
  const lines = [head, ...indented(problem.message)];
  if (problem.path !== '') lines.push(colors.dim(`  at ${oneLine(problem.path)}`));
  if (source !== undefined) lines.push('', ...frameLines(problem, source, options));
  else if (problem.help !== undefined) lines.push(...indented(problem.help));
  return lines.join('\n');
}

function placeText({ origin }: Diagnostic, source: string | undefined): string {
  if (source === undefined) return origin.file;
  const { line, column } = positionAt(lineStarts(source), origin.start);
  return `${origin.file}:${line}:${column}`;
}

function frameLines(problem: Diagnostic, source: string, options: RenderOptions): string[] {
  const { colors, width } = options;
  const paint = problem.severity === 'error' ? colors.red : colors.yellow;
  const { lines, marker, gutter } = codeFrame(source, problem.origin, width);
  const carets = `${gutter}${paint(marker)}`;
  if (problem.help === undefined) return [...lines, carets];
  const help = oneLine(problem.help);
  const needed = gutter.length + marker.length + 1 + displayWidth(help);
  if (needed <= width) return [...lines, `${carets} ${paint(help)}`];
  return [...lines, carets, `${gutter}${paint(help)}`];
}

function indented(text: string): string[] {
  return printable(text)
    .split('\n')
    .map((line) => `  ${line}`);
}

function oneLine(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}
