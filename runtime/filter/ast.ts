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
 * A comparison with an attribute that class code computes, after class code has returned its
 * filter. The parser does not make it: `settledFilter` replaces the comparison by it.
 */
export interface ComputedNode {
  readonly kind: 'computed';
  readonly comparison: ComparisonNode;
  /**
   * The filter for the entity that has the attribute; none if no value can match, so that nothing
   * is found.
   */
  readonly filter: FilterNode | undefined;
  /** Whether the comparison looks for null, which is also the value of a missing entity. */
  readonly isNullWanted: boolean;
}

/**
 * Comparators without synonyms: `==` is `=`, `#` is `!=`, `IS` is `===`, `IS NOT` is `!==`. The
 * long forms take wildcards literally, and equal the short ones if the model has no wildcards.
 */
export type Comparator =
  '=' | '!=' | '===' | '!==' | '<' | '<=' | '>' | '>=' | 'begin' | 'contains' | '%' | 'in';

export interface AttributePath {
  /** None while a placeholder stands for the path; its parameter gives the steps. */
  readonly steps: readonly PathStep[];
  /**
   * The placeholder in the place of the path; it stays after the steps are known, which have its
   * offsets.
   */
  readonly placeholder?: PlaceholderValue;
  readonly start: number;
  readonly end: number;
}

export interface PathStep {
  readonly name: string;
  /**
   * The number in `staff{2}`: another related entity than that of `staff`; 1 if none is written.
   */
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
  /**
   * A quoted or bare text, a number, or a boolean, as written; the attribute's type decides its
   * meaning.
   */
  readonly value: string | number | boolean;
  /** The same value as text: as in the filter, without quotes and escapes. */
  readonly text: string;
  /** `true` if the value is in quotes, and so is a text whatever it looks like. */
  readonly quoted: boolean;
  readonly start: number;
  readonly end: number;
}

/** `:1`, `:2`, …, or `:name`: a value of `$params`. */
export interface PlaceholderValue {
  readonly kind: 'placeholder';
  /** Zero-based position in `$params`, or the name of a member if `$params` is an object. */
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
