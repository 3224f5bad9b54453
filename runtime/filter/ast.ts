/** A parsed `$filter` (protocol section 7). Offsets count UTF-16 code units of the filter's text. */
export type FilterNode = LogicalNode | NotNode | ComparisonNode;

export interface LogicalNode {
  readonly kind: 'and' | 'or' | 'except';
  readonly left: FilterNode;
  readonly right: FilterNode;
}

export interface NotNode {
  readonly kind: 'not';
  readonly operand: FilterNode;
}

export interface ComparisonNode {
  readonly kind: 'comparison';
  readonly path: AttributePath;
  readonly comparator: Comparator;
  readonly value: FilterValue;
}

/** Comparators after synonyms are folded: `==` and `IS` are `=`, `#` and `IS NOT` are `!=`. */
export type Comparator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'begin' | 'contains' | '%' | 'in';

export interface AttributePath {
  readonly steps: readonly PathStep[];
  readonly start: number;
  readonly end: number;
}

export interface PathStep {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export type FilterValue =
  | { readonly kind: 'null'; readonly start: number; readonly end: number }
  | LiteralValue
  | PlaceholderValue;

export interface LiteralValue {
  readonly kind: 'literal';
  /** A quoted or bare text, a number, or a boolean, as written; the attribute's type decides what it means. */
  readonly value: string | number | boolean;
  /** The same value as text: what stood in the filter, without its quotes and escapes. */
  readonly text: string;
  /** `true` when the value stood in quotes, and is a text whatever it looks like. */
  readonly quoted: boolean;
  readonly start: number;
  readonly end: number;
}

/** `:1`, `:2`, …: a value of `$params`. */
export interface PlaceholderValue {
  readonly kind: 'placeholder';
  /** Zero-based position in `$params`. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
}
