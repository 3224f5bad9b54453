import type { Diagnostic, Origin } from '../source/diagnostic.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Colors } from './colors.js';
import { displayWidth, printable, cellsOf, type Cell } from './terminal-text.js';

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

/** The numbers of problems in words: `2 errors, 1 warning`. */
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

interface Frame {
  /** Lines of source with their numbers. */
  readonly lines: readonly string[];
  /** Blanks and carets below the last of them. */
  readonly marker: string;
  /** Width of the columns before the source. */
  readonly gutter: string;
}

//    13 | boss:
//    14 |   to: Persn
//       |       ^^^^^
/** The place of a problem: its first line, the one above, and carets. Lines are cut to the width around the carets. */
function codeFrame(source: string, origin: Origin, width: number): Frame {
  const starts = lineStarts(source);
  const { line, column } = positionAt(starts, origin.start);
  const text = lineText(source, starts, line);
  const label = String(line);
  const room = Math.max(width - label.length - 5, 20);
  const begin = Math.min(column - 1, text.length);
  const end = Math.min(begin + Math.max(origin.end - origin.start, 0), text.length);
  const shown = cutAround(text, { begin, end }, room);
  const above = shown.isCutLeft ? undefined : contextAbove(source, starts, line, room);
  const numbered = (number: string, content: string) =>
    `  ${number.padStart(label.length)} | ${content}`.trimEnd();
  return {
    lines: [
      ...(above === undefined ? [] : [numbered(String(line - 1), above)]),
      numbered(label, shown.text),
    ],
    marker: shown.marker,
    gutter: `  ${' '.repeat(label.length)} | `,
  };
}

interface Span {
  readonly begin: number;
  readonly end: number;
}

function lineText(source: string, starts: readonly number[], line: number): string {
  const end = starts[line] ?? source.length + 1;
  const text = source.slice(starts[line - 1], end - 1);
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

function contextAbove(
  source: string,
  starts: readonly number[],
  line: number,
  room: number,
): string | undefined {
  const text = line > 1 ? lineText(source, starts, line - 1) : '';
  return text.trim() === '' ? undefined : cutAround(text, { begin: 0, end: 0 }, room).text;
}

function cutAround(
  line: string,
  span: Span,
  room: number,
): { text: string; marker: string; isCutLeft: boolean } {
  // A line can be a megabyte long: only the visible part is cut into cells.
  const from = wholeCharacterAt(line, Math.max(span.begin - room, 0));
  const to = Math.min(span.begin + 2 * room, line.length);
  const cells = cellsOf(line.slice(from, to)).map((cell) => ({
    ...cell,
    start: cell.start + from,
  }));
  const visible = visibleCells(cells, span, { room, isMore: from > 0 || to < line.length });
  const isCutLeft = (visible[0]?.start ?? 0) > 0;
  const last = visible.at(-1);
  const isCutRight = last !== undefined && nextStart(cells, last) < line.length;
  const head = isCutLeft ? '…' : '';
  const marked = visible.filter((cell) => isMarked(cell, span));
  const before = visible.filter((cell) => cell.start < span.begin && !isMarked(cell, span));
  return {
    text: head + visible.map((cell) => cell.text).join('') + (isCutRight ? '…' : ''),
    marker: ' '.repeat(head.length + widthOf(before)) + '^'.repeat(Math.max(widthOf(marked), 1)),
    isCutLeft,
  };
}

function visibleCells(
  cells: readonly Cell[],
  span: Span,
  { room, isMore }: { room: number; isMore: boolean },
): readonly Cell[] {
  if (!isMore && widthOf(cells) <= room) return cells;
  const free = room - 2;
  const caret = cells.filter((cell) => cell.start < span.begin).length;
  let first = caret;
  let used = 0;
  const behind = Math.min(widthOf(cells.slice(caret)), Math.ceil((free * 2) / 3));
  for (let at = caret - 1; at >= 0; at -= 1) {
    used += cells[at]?.width ?? 0;
    if (used > free - behind) break;
    first = at;
  }
  let last = first;
  used = 0;
  for (const cell of cells.slice(first)) {
    used += cell.width;
    if (used > free) break;
    last += 1;
  }
  return cells.slice(first, last);
}

function isMarked(cell: Cell, span: Span): boolean {
  return cell.start >= span.begin && cell.start < span.end;
}

function nextStart(cells: readonly Cell[], cell: Cell): number {
  const at = cells.indexOf(cell) + 1;
  return cells[at]?.start ?? cell.start + cell.text.length;
}

function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((sum, cell) => sum + cell.width, 0);
}

/** Steps over the second half of a character. */
function wholeCharacterAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
