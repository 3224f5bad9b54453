import {
  createQueryId,
  createSelectQueryBuilder,
  type Dialect,
  InsertQueryBuilder,
  type InsertResult,
  NOOP_QUERY_EXECUTOR,
  type OperationNode,
  OperationNodeTransformer,
  type QueryExecutor,
  type QueryExecutorProvider,
  type QueryId,
  type SelectQueryBuilder,
  UpdateQueryBuilder,
  type UpdateResult,
  type ValueNode,
} from 'kysely';
import type { AnyTables, BuiltQuery, DataclassQueries, EntityQuery } from '../protocol/queries.js';
import { RestrictionSlot, type Sql, type Statement } from './statement.js';

export type { BuiltQuery } from '../protocol/queries.js';

/** Compiles a query into its SQL text and the values to bind. */
export function compileWith(writer: QueryExecutorProvider, query: BuiltQuery): Statement {
  const node = query.toOperationNode();
  const { sql, parameters } = writer.getExecutor().compileQuery(node, createQueryId());
  const bindings = parameters as Statement['bindings'];
  const slots = bindings.filter((each) => each instanceof RestrictionSlot);
  if (slots.length === 0) return { sql, bindings };
  const restricted: Statement['restricted'] = {
    dataclasses: [...new Set(slots.map(({ dataclass }) => dataclass))],
    write: (conditionOf) => {
      const replaced = new SlotReplacer(conditionOf).transformNode(node);
      return compileWith(writer, { toOperationNode: () => replaced });
    },
  };
  return { sql, bindings, restricted };
}

class SlotReplacer extends OperationNodeTransformer {
  constructor(private readonly conditionOf: (slot: RestrictionSlot) => Sql) {
    super();
  }

  protected override transformNodeImpl<T extends OperationNode>(node: T): T {
    const { value } = node as unknown as Partial<ValueNode>;
    return value instanceof RestrictionSlot
      ? (this.conditionOf(value).toOperationNode() as unknown as T)
      : super.transformNodeImpl(node);
  }
}

/** What Kysely needs to write the SQL of a database; the executor runs it. */
export type KyselyParts = Pick<
  Dialect,
  'createAdapter' | 'createIntrospector' | 'createQueryCompiler'
>;

/** A query to which the runtime adds expressions; {@link compileWith} writes its SQL. */
export type SelectBuilder = SelectQueryBuilder<AnyTables, string, object>;

/** An emitted query as a builder of Kysely for unknown tables. */
export function opened(query: EntityQuery): SelectBuilder {
  return createSelectQueryBuilder({ ...builtApart(), queryNode: query.toOperationNode() });
}

/** An emitted insert as a builder of Kysely for unknown tables. */
export function openedInsert(
  insert: ReturnType<DataclassQueries['insert']>,
): InsertQueryBuilder<AnyTables, string, InsertResult> {
  return new InsertQueryBuilder({ ...builtApart(), queryNode: insert.toOperationNode() });
}

/** An emitted update as a builder of Kysely for unknown tables. */
export function openedUpdate(
  update: ReturnType<DataclassQueries['update']>,
): UpdateQueryBuilder<AnyTables, string, string, UpdateResult> {
  return new UpdateQueryBuilder({ ...builtApart(), queryNode: update.toOperationNode() });
}

function builtApart(): { queryId: QueryId; executor: QueryExecutor } {
  return { queryId: createQueryId(), executor: NOOP_QUERY_EXECUTOR };
}
