import type { FilterNode } from './ast.js';

export interface FilterLimits {
  /** Greatest length of the text, in UTF-16 code units. */
  readonly filterLength: number;
  /** Greatest number of nested parentheses, those of `NOT ( )` included. */
  readonly filterDepth: number;
}

export function parseFilter(text: string, limits: FilterLimits): FilterNode {
  void [text, limits];
  throw new Error('not written yet');
}
