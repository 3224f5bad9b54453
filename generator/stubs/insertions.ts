/** A text that is put into a file; nothing of the file's own is replaced. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** The text with all insertions, each at its offset of the text before; those of one offset in their order. */
export function withInsertions(text: string, insertions: readonly Insertion[]): string {
  const parts: string[] = [];
  let last = 0;
  for (const { at, text: inserted } of insertions.toSorted((a, b) => a.at - b.at)) {
    parts.push(text.slice(last, at), inserted);
    last = at;
  }
  return parts.join('') + text.slice(last);
}
