import type { ColumnDefinition, NameScope } from '../dataclass/attribute-path.js';
import type { Aliases, Source } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { ComparisonNode } from './ast.js';
import type { Similarities } from './similarities.js';
import type { FilterSlots } from './slots.js';

export type Compared = (
  comparison: ComparisonNode,
  source: Source,
  attribute: ColumnDefinition,
) => void;

/** What the conditions of one filter share while they are written. */
export interface FilterContext {
  readonly dialect: Dialect;
  readonly aliases: Aliases;
  readonly slots: FilterSlots;
  readonly similarities: Similarities;
  /** What its paths may name; what is exposed when left out. */
  readonly names?: NameScope;
  /** Is told of each comparison with an attribute, and of the table where that is: for plans. */
  readonly compared?: Compared;
  /** Position of each comparison's value among the filter's inputs; none for a written `null`. */
  readonly inputs: ReadonlyMap<ComparisonNode, number>;
  /** Inputs that are null: placeholders whose parameter is. */
  readonly nulls: ReadonlySet<number>;
  /** Inputs that hold a wildcard. */
  readonly patterns: ReadonlySet<number>;
  /** Inputs that cannot be a value of the type they are compared with: such a comparison holds for nothing. */
  readonly mismatched: ReadonlySet<number>;
}
