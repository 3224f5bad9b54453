import type { Diagnostic } from '../source/diagnostic.js';

/**
 * Problems in the order of reading: the model file first, then other files by name; in each by
 * position, path and code.
 */
export function sortProblems(
  modelFile: string,
  problems: readonly Diagnostic[],
): readonly Diagnostic[] {
  const rank = ({ origin }: Diagnostic): string =>
    origin.file === modelFile ? '' : `1${origin.file}`;
  return [...problems].sort(
    (a, b) =>
      compare(rank(a), rank(b)) ||
      a.origin.start - b.origin.start ||
      a.origin.end - b.origin.end ||
      compare(a.path, b.path) ||
      compare(a.code, b.code),
  );
}

/** By code unit, independent of the machine's locale. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
