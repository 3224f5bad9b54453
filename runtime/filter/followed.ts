import { type From, maxJoins, type Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import type { ComparisonNode, FilterNode } from './ast.js';
import type { FilterContext } from './context.js';
import { filterError } from './filter-error.js';

/** Of one filter: each of them is a table, and the time to plan a statement grows with them. */
const maxFollowed = 1000;

/** Conditions with tables of their own, one inside the other; SQLite takes less than 30. */
const maxNested = 20;

/** Counts the relations and arrays that the conditions of one filter follow. */
export class Followed {
  #count = 0;

  /** @throws RequestError 400 with 1162 when a filter follows too many */
  add(count: number, node: ComparisonNode): void {
    this.#count += count;
    if (this.#count > maxFollowed) {
      const problem = `the filter follows more than ${maxFollowed} relations and arrays up to here`;
      throw filterError(node.path.start, problem);
    }
  }

  /** Adds the to-one relations that `follow` joins. */
  joined<T>(from: From, node: ComparisonNode, follow: () => T): T {
    const before = from.joinCount;
    const result = follow();
    this.add(from.joinCount - before, node);
    if (from.joinCount > maxJoins) {
      const problem = `the filter follows more than ${maxJoins} to-one relations of one entity`;
      throw filterError(node.path.start, problem);
    }
    return result;
  }
}

/** A filter's context, and what is counted while its conditions are written. */
export interface WritingContext extends FilterContext {
  readonly followed: Followed;
  /** Conditions with tables of their own around the place that is written. */
  readonly nesting: number;
  /** Writes what class code gave for a comparison, over the entity that has the attribute. */
  readonly within: (context: WritingContext, from: From, source: Source, filter: FilterNode) => Sql;
}

/**
 * The context inside one more condition with tables of its own.
 * @throws RequestError 400 with 1162 when there are too many
 */
export function nested(context: WritingContext, node: ComparisonNode): WritingContext {
  if (context.nesting === maxNested) {
    const problem = `a path leads over at most ${maxNested} to-many relations and arrays`;
    throw filterError(node.path.start, problem);
  }
  return { ...context, nesting: context.nesting + 1 };
}
