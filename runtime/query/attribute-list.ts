/** Which list: of the path or `$attributes` (errors 1804), or of `$expand` (errors 1805). */
export type ListKind = 'path' | '$attributes' | '$expand';

export interface ListedPath {
  readonly path: readonly string[];
  /** Ends in `*`. */
  readonly all: boolean;
}

export function parseAttributeList(text: string, kind: ListKind): readonly ListedPath[] {
  void [text, kind];
  throw new Error('not written yet');
}
