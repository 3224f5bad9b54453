import type { Scalar } from './comparison.js';

/** The meaning of a filter, with a choice among its spellings. */
export type Filter =
  | {
      readonly kind: 'and' | 'or' | 'except';
      readonly left: Filter;
      readonly right: Filter;
      readonly spelling?: number;
    }
  | { readonly kind: 'not'; readonly operand: Filter }
  | Comparison;

export type Comparator =
  '=' | '===' | '!=' | '!==' | '<' | '<=' | '>' | '>=' | 'begin' | 'contains' | '%' | 'in';

export interface Comparison {
  readonly kind: 'comparison';
  readonly path: readonly WrittenStep[];
  readonly comparator: Comparator;
  /** A list behind IN, otherwise one value. */
  readonly operands: readonly Operand[];
  /** The list behind IN is sent in `$params` as a whole. */
  readonly isListPlaceholder?: boolean;
  /** The text of the path is sent in `$params`. */
  readonly isPathPlaceholder?: boolean;
  /** Chooses among the spellings of the comparator and the value. */
  readonly spelling: number;
}

/** `staff`, `staff{2}`, `list[]`, `list[a]`. */
export interface WrittenStep {
  readonly name: string;
  readonly ordinal?: number | undefined;
  /** Empty for any element, otherwise the letter of one that is tied. */
  readonly element?: string | undefined;
}

export interface Operand {
  readonly value: Scalar | null;
  /**
   * A text in quotes is always a text; without quotes it ends before the text after the comparison.
   */
  readonly writing: 'placeholder' | 'quoted' | 'bare';
}

/**
 * The members of an AND at one level; parentheses around an AND inside an AND have no effect, and
 * EXCEPT is AND NOT.
 */
export function members(filter: Filter): readonly Filter[] {
  if (filter.kind === 'and') return [...members(filter.left), ...members(filter.right)];
  if (filter.kind === 'except') {
    return [...members(filter.left), { kind: 'not', operand: filter.right }];
  }
  return [filter];
}

/** Filters joined by AND, one at least. */
export function allOf([first, ...others]: readonly Filter[]): Filter {
  if (first === undefined) throw new Error('Nothing is no filter.');
  return others.reduce((left, right) => ({ kind: 'and', left, right }), first);
}
