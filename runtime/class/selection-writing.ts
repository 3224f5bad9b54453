import { sql } from 'kysely';
import type { From } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import type { Similarities } from '../filter/similarities.js';
import type { EntityQuery } from '../protocol/queries.js';
import type { QueryContext } from '../query/context.js';
import type { SeenModel } from './seen-model.js';
import type { SelectionNode } from './selection-node.js';

/** What the parts of a tree need to be written. */
export interface NodeWriter {
  readonly context: QueryContext;
  /** As the code sees it that reads the tree. */
  readonly model: SeenModel;
  /**
   * The condition that an entity of `from` belongs to a selection; none where all do.
   * @param nesting subqueries around it
   */
  condition(from: From, node: SelectionNode, nesting: number): Sql | undefined;
  /**
   * A query for columns of the entities of a selection, which are those of `from`, in order.
   * @param from a `table`
   * @param hasLimit a limit is written for a selection that is no slice, too
   */
  select(
    from: From,
    node: SelectionNode,
    columns: Sql,
    nesting: number,
    hasLimit?: boolean,
  ): EntityQuery;
  /** A value that a node has itself. */
  value(node: SelectionNode, offset: number): Sql;
  /** The same statement, with filters that tell others what vectors they compare. */
  within(similarities: Similarities): NodeWriter;
}

export function whereOf(condition: Sql | undefined): Sql {
  return condition === undefined ? sql`` : sql` where ${condition}`;
}
