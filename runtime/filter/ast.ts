/** A parsed `$filter` (`filters.md`). Offsets count UTF-16 code units of the filter's text. */
export type FilterNode = LogicalNode | NotNode | ComparisonNode | ComputedNode;

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

/**
 * A comparison with an attribute that class code computes, after class code was asked what it means. No parser makes it:
 * `settledFilter` puts it in the place of the comparison.
 */
export interface ComputedNode {
  readonly kind: 'computed';
  readonly comparison: ComparisonNode;
  /** What holds for the entity that has the attribute; none where no value can be such a one, so that nothing is found. */
  readonly filter: FilterNode | undefined;
  /** Null is among the values that are looked for, and an entity that is not there has the value null. */
  readonly isNullWanted: boolean;
}

/**
 * Comparators after synonyms are folded: `==` is `=`, `#` is `!=`, `IS` is `===`, `IS NOT` is `!==`. The long forms take
 * wildcards literally, and are the same as the short ones where the model has none.
 */
export type Comparator =
  '=' | '!=' | '===' | '!==' | '<' | '<=' | '>' | '>=' | 'begin' | 'contains' | '%' | 'in';

export interface AttributePath {
  /** None where a placeholder stands for the path, until the path that its parameter holds is put in its place. */
  readonly steps: readonly PathStep[];
  /** What stands in the text for the path; it stays when the steps are known, and they have its offsets. */
  readonly placeholder?: PlaceholderValue;
  readonly start: number;
  readonly end: number;
}

export interface PathStep {
  readonly name: string;
  /** The number in `staff{2}`: another related entity than that of `staff`; 1 when none is written. */
  readonly ordinal: number;
  /** Elements of an array inside an object: `''` for any (`list[]`), a letter in lower case for one that is tied (`list[a]`). */
  readonly element: string | undefined;
  readonly start: number;
  readonly end: number;
}

export type FilterValue = SingleValue | ListValue;

export type SingleValue = NullValue | LiteralValue | PlaceholderValue;

export interface NullValue {
  readonly kind: 'null';
  readonly start: number;
  readonly end: number;
}

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

/** `:1`, `:2`, …, or `:name`: a value of `$params`. */
export interface PlaceholderValue {
  readonly kind: 'placeholder';
  /** Zero-based position in `$params`, or the name of a member where `$params` is an object. */
  readonly key: number | string;
  readonly start: number;
  readonly end: number;
}

/** `[1, 2]` behind `IN`. */
export interface ListValue {
  readonly kind: 'list';
  readonly items: readonly SingleValue[];
  readonly start: number;
  readonly end: number;
}
