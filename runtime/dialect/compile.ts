import {
  type KyselyPlugin,
  type OperationNode,
  OperationNodeTransformer,
  type ValueNode,
  type Dialect,
} from 'kysely';
import type { AnyKysely, BuiltQuery } from '../protocol/queries.js';
import type { Sql } from './sql.js';
import { RestrictionSlot, type Statement } from './statement.js';

export type { BuiltQuery } from '../protocol/queries.js';

/** Compiles a query into its SQL text and the values to bind. */
export function compileWith(writer: AnyKysely, query: Sql | BuiltQuery): Statement {
  const { sql, parameters } = 'isRawBuilder' in query ? query.compile(writer) : query.compile();
  const bindings = parameters as Statement['bindings'];
  const slots = bindings.filter((each) => each instanceof RestrictionSlot);
  if (slots.length === 0) return { sql, bindings };
  const restricted: Statement['restricted'] = {
    dataclasses: [...new Set(slots.map(({ dataclass }) => dataclass))],
    write: (conditionOf) => compileWith(writer, query.withPlugin(replacing(conditionOf))),
  };
  return { sql, bindings, restricted };
}

function replacing(conditionOf: (slot: RestrictionSlot) => Sql): KyselyPlugin {
  const replacer = new SlotReplacer(conditionOf);
  return {
    transformQuery: ({ node }) => replacer.transformNode(node),
    transformResult: ({ result }) => Promise.resolve(result),
  };
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
