import { printable } from './terminal-text.js';
import type { Colors } from './colors.js';

export interface DiffSide {
  readonly name: string;
  readonly text: string;
}

//  --- src/generated/app.ts (generated)
//  +++ src/generated/app.ts (on disk)
//  @@ -1,3 +1,3 @@
//   import { a } from './a.js';
//  -const b = 1;
//  +const b = 2;
/** How to come from one text to another. */
export async function unifiedDiff(from: DiffSide, to: DiffSide): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  return createTwoFilesPatch(from.name, to.name, from.text, to.text, undefined, undefined, {
    headerOptions: FILE_HEADERS_ONLY,
  });
}

/** A diff for a terminal, cut to a number of lines. */
export function renderDiff(diff: string, colors: Colors, maxLines = Infinity): string {
  const lines = printable(diff).trimEnd().split('\n');
  const shown = lines.slice(0, maxLines).map((line) => paintLine(line, colors));
  const left = lines.length - shown.length;
  if (left > 0) shown.push(colors.dim(`… ${left} more lines`));
  return shown.join('\n');
}

function paintLine(line: string, colors: Colors): string {
  if (line.startsWith('---') || line.startsWith('+++')) return colors.bold(line);
  if (line.startsWith('@@')) return colors.cyan(line);
  if (line.startsWith('+')) return colors.green(line);
  return line.startsWith('-') ? colors.red(line) : line;
}
