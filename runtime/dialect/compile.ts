import {
  createQueryId,
  createSelectQueryBuilder,
  type Dialect,
  InsertQueryBuilder,
  type InsertResult,
  NOOP_QUERY_EXECUTOR,
  type QueryExecutor,
  type QueryExecutorProvider,
  type QueryId,
  type SelectQueryBuilder,
  sql,
  UpdateQueryBuilder,
  type UpdateResult,
} from 'kysely';
import type { AnyTables, BuiltQuery, DataclassQueries, EntityQuery } from '../protocol/queries.js';
import { RestrictionSlot, Slot, type Sql, type Statement } from './statement.js';

export type { BuiltQuery } from '../protocol/queries.js';

/**
 * What the query compilers of {@link compileWith} write for each value, until the statement is
 * complete. No SQL contains this character.
 */
export const valueMark = '\0';

/** A compiled query: one text more than it has values, which come between the texts. */
interface CompiledQuery {
  readonly texts: readonly string[];
  readonly bindings: Statement['bindings'];
}

/** Writes the placeholder of a value in a statement, counted from 1. */
type Placeholder = (position: number) => string;

/** Numbers the statements with restrictions. */
let restrictedStatements = 0;

/**
 * Compiles a query into its SQL text and the values to bind.
 * @param writer writes {@link valueMark} for each value
 */
export function compileWith(
  writer: QueryExecutorProvider,
  placeholder: Placeholder,
  query: BuiltQuery,
): Statement {
  const compiled = compiledWith(writer, query);
  const { bindings } = compiled;
  const statement = statementOf(compiled, placeholder);
  const slots = bindings.filter((each) => each instanceof RestrictionSlot);
  if (slots.length === 0) return statement;
  const indexes = bindings.map((each) => (each instanceof Slot ? each.index : -1));
  restrictedStatements += 1;
  const restricted: Statement['restricted'] = {
    number: restrictedStatements,
    dataclasses: [...new Set(slots.map(({ dataclass }) => dataclass))],
    given: Math.max(-1, ...indexes) + 1,
    complete: (conditionOf) => {
      const condition = (slot: RestrictionSlot): CompiledQuery =>
        compiledWith(writer, conditionOf(slot));
      return statementOf(withConditions(compiled, condition), placeholder);
    },
  };
  return { ...statement, restricted };
}

function compiledWith(writer: QueryExecutorProvider, query: BuiltQuery): CompiledQuery {
  const node = query.toOperationNode();
  const { sql, parameters } = writer.getExecutor().compileQuery(node, createQueryId());
  const texts = sql.split(valueMark);
  if (texts.length !== parameters.length + 1) throw new Error('A query contains U+0000.');
  return { texts, bindings: parameters as Statement['bindings'] };
}

/** Puts the text of a condition, with its values, in the place of each {@link RestrictionSlot}. */
function withConditions(
  { texts, bindings }: CompiledQuery,
  conditionOf: (slot: RestrictionSlot) => CompiledQuery,
): CompiledQuery {
  const written = [texts[0] ?? ''];
  const bound: Statement['bindings'][number][] = [];
  for (const [index, binding] of bindings.entries()) {
    const next = texts[index + 1] ?? '';
    if (binding instanceof RestrictionSlot) {
      const condition = conditionOf(binding);
      const [first = '', ...others] = condition.texts;
      written.push((written.pop() ?? '') + first, ...others);
      written.push((written.pop() ?? '') + next);
      bound.push(...condition.bindings);
    } else {
      written.push(next);
      bound.push(binding);
    }
  }
  return { texts: written, bindings: bound };
}

function statementOf({ texts, bindings }: CompiledQuery, placeholder: Placeholder): Statement {
  const sql = texts.reduce((all, text, position) => all + placeholder(position) + text);
  return { sql, bindings };
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

/** A query in parentheses; Kysely puts those of its builder into some by itself. */
export function subquery(query: Sql | BuiltQuery): Sql {
  return 'isRawBuilder' in query ? sql`(${query})` : sql`${query}`;
}

function builtApart(): { queryId: QueryId; executor: QueryExecutor } {
  return { queryId: createQueryId(), executor: NOOP_QUERY_EXECUTOR };
}
