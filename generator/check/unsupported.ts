import { child, textOf } from '../source/tree.js';
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
} satisfies Readonly<Record<string, Unsupported>>;

export type UnsupportedCode = keyof typeof unsupported;
