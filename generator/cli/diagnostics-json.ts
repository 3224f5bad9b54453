import type { Diagnostic } from '../source/diagnostic.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Sources } from './render-diagnostics.js';

/** A problem as `--json` prints it. Lines and columns count from 1, columns in UTF-16 units; the end is exclusive. */
interface DiagnosticJson {
  readonly code: string;
  readonly severity: Diagnostic['severity'];
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly path: string;
  readonly help: string | null;
}

export function diagnosticsJson(
  problems: readonly Diagnostic[],
  sources: Sources,
): readonly DiagnosticJson[] {
  return problems.map(({ code, severity, message, origin, path, help }) => {
    const starts = lineStarts(sources.get(origin.file) ?? '');
    const from = positionAt(starts, origin.start);
    const to = positionAt(starts, origin.end);
    return {
      code,
      severity,
      message,
      file: origin.file,
      line: from.line,
      column: from.column,
      endLine: to.line,
      endColumn: to.column,
      path,
      help: help ?? null,
    };
  });
}
