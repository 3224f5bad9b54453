/** A parsed `$filter` (`filters.md`). Offsets count UTF-16 code units of the filter's text. */
export type FilterNode = LogicalNode | NotNode | ComparisonNode | ComputedNode;

interface LogicalNode {
  readonly kind: 'and' | 'or' | 'except';
  readonly left: FilterNode;
  readonly right: FilterNode;
}

interface NotNode {
  readonly kind: 'not';
  readonly operand: FilterNode;
}

export interface ComparisonNode {
  readonly kind: 'comparison';
  readonly path: AttributePath;
  readonly comparator: Comparator;
  readonly value: FilterValue;
}

/** What class code made of a comparison; `resolvedFilter` puts it in the place of the comparison. */
export interface ComputedNode {
  readonly kind: 'computed';
  readonly comparison: ComparisonNode;
  /** The filter for the entity that has the attribute; none if nothing can match. */
  readonly filter: FilterNode | undefined;
  /** Whether the comparison looks for null, which is also the value of a missing entity. */
  readonly isNullWanted: boolean;
}

/** `==` is `=`, `#` is `!=`, `IS` is `===`, `IS NOT` is `!==`; the long forms take wildcards literally. */
export type Comparator =
  '=' | '!=' | '===' | '!==' | '<' | '<=' | '>' | '>=' | 'begin' | 'contains' | '%' | 'in';

export interface AttributePath {
  /** Empty while a placeholder stands for the path; its parameter gives the steps. */
  readonly steps: readonly PathStep[];
  /** Stands in the place of the path, and stays when the steps are known. */
  readonly placeholder?: PlaceholderValue;
  readonly start: number;
  readonly end: number;
}

export interface PathStep {
  readonly name: string;
  /** 2 in `staff{2}`: another related entity than that of `staff`, which is 1. */
  readonly ordinal: number;
  /**
   * Elements of an array inside an object: `''` for any (`list[]`), a letter in lower case for one
   * that is tied (`list[a]`).
   */
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
  /** The value as it is written; the attribute's type decides its meaning. */
  readonly value: string | number | boolean;
  /** The value as it is written in the filter, without quotes and escapes. */
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
