/** A text that is put into a file; nothing of the file's own is replaced. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** A stretch of a file that gets another text. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text with all insertions, each at its offset of the text before; those of one offset in their order. */
export function withInsertions(text: string, insertions: readonly Insertion[]): string {
  const sorted = insertions.toSorted((a, b) => a.at - b.at);
  return withReplacements(
    text,
    sorted.map(({ at, text: inserted }) => ({ start: at, end: at, text: inserted })),
  );
}

/**
 * The text with all replacements, which are in the order of the text; everything else stays byte
 * for byte.
 */
export function withReplacements(text: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let last = 0;
  for (const each of replacements) {
    parts.push(text.slice(last, each.start), each.text);
    last = each.end;
  }
  return parts.join('') + text.slice(last);
}
