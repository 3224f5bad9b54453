import { child, isNull, textOf } from '../source/tree.js';
import type { Place, SourceNode } from '../source/tree.js';

interface Unsupported {
  /** What this version does not build yet, as the end of the sentence that says so. */
  readonly what: string;
  /** Where a model asks for it. */
  readonly uses: (root: SourceNode) => readonly Place[];
}

/** What the model file knows and this version of the generator does not build yet. A row goes when its work is done. */
export const unsupported = {
  'unsupported/postgres': {
    what: 'servers for the database postgres',
    uses: (root) => {
      const database = child(root, 'database');
      const listed = database?.kind === 'list' ? database.items : database ? [database] : [];
      return listed.filter((each) => textOf(each) === 'postgres');
    },
  },
  'unsupported/query-timeout': {
    what: 'the limit queryTimeout',
    uses: (root) => writtenLimit(root, 'queryTimeout'),
  },
} satisfies Readonly<Record<string, Unsupported>>;

export type UnsupportedCode = keyof typeof unsupported;

function writtenLimit(root: SourceNode, name: string): readonly Place[] {
  const limit = child(child(root, 'limits'), name);
  return limit === undefined || isNull(limit) ? [] : [limit];
}
