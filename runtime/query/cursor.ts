import { sql } from 'kysely';
import type { JsonAnswer } from '../dialect/executor.js';
import type { Sql } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { never } from '../filter/context.js';
import { refuse } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import { positionOf, tokenOf } from './cursor-token.js';
import type { OrderItem } from './order-by.js';
import { orderList, type OrderTerm, orderTerms } from './order-sql.js';
import { type CursorPage, type PageRequest, readCursorPage, withMember } from './page.js';
import { pageTop, type ReadingContext } from './reading-context.js';
import { orderOf, resolved, type SelectionRequest, shapeName } from './selection-request.js';

/**
 * Reads a page of a selection, and tells where the next one begins (protocol P3.29): behind the values by which its last
 * entity is ordered, and its key. No other entity has these, so that entities that others create or delete move
 * nothing.
 * @returns no answer if the entity whose relation is read does not exist
 * @throws RequestError 400 with 1806 for a token of something else, and parameters that exclude each other; 1810 for an order
 * whose values a token cannot hold
 */
export async function readCursor(
  context: ReadingContext,
  unresolved: SelectionRequest,
  page: PageRequest,
): Promise<JsonAnswer | undefined> {
  checkCursor(context, page);
  const { after } = page.parameters;
  const request = await resolved(context, unresolved);
  const secret = await context.cursors.get();
  const about = subjectOf(context, unresolved, orderOf(request));
  const position = after === undefined ? undefined : positionOf(secret, about, after);
  const shown = { ...page, format: after === undefined ? 'cursor' : 'cursorAfter' } as const;
  const { inputs } = request.inputs;
  const values = (position ?? []).map((value) => ({ value }));
  const behind = { ...request, inputs: { ...request.inputs, inputs: [...inputs, ...values] } };
  const answer = await readCursorPage(context, behind, shown, pageBehind(position, inputs.length));
  if (answer === undefined) return undefined;
  const { json, end } = answer;
  const next = end === undefined ? null : tokenOf(secret, about, end);
  return withMember(json, `"__NEXT":${JSON.stringify(next)}`);
}

/** @throws RequestError 400 with 1806 for a page that has no cursor */
function checkCursor(context: ReadingContext, { format, parameters }: PageRequest): void {
  const { after, skip } = parameters;
  const name = after === undefined ? '$cursor' : '$after';
  if (format !== 'collection') {
    throw refuse('malformedUrl', `${name} applies to a page; it cannot be combined with a format.`);
  }
  if (skip !== undefined) {
    throw refuse(
      'malformedUrl',
      `${name} and $skip cannot be combined: a page begins behind the one before.`,
    );
  }
  if (pageTop(context, parameters.top) > 0) return;
  throw refuse('malformedUrl', `${name} needs a $top of at least 1.`);
}

/** What a token belongs to: the entities, their order, what the session sees, and the model. */
function subjectOf(
  { statements, database }: ReadingContext,
  { dataclass, base, baseValue, filter, inputs, name }: SelectionRequest,
  order: readonly OrderItem[],
): string {
  const { visible } = statements;
  const relation = base.kind === 'related' ? [base.owner.name, base.relation.name] : [];
  const values = inputs.inputs.map(({ value, text }) => [text ?? String(value), value]);
  const terms = order.map(({ path, descending }) => [path, descending]);
  const entities = [dataclass.name, relation, String(baseValue), filter?.shape, name, values];
  return JSON.stringify([database.schemaHash, visible, entities, terms]);
}

/** The values of the order of the last entity before a page; none for the first page. */
type Position = readonly SqlValue[] | undefined;

/**
 * A part of the entities behind a position: in its beginning, a range of values of the first term that an index finds;
 * then null, or all but null. Parts follow each other in the order.
 */
type Part = 'all' | 'range' | 'null' | 'notNull';

function partsBehind(position: Position, leading: OrderTerm | undefined): readonly Part[] {
  if (position === undefined) return ['all'];
  const isNull = position[0] === null;
  if (leading?.descending !== true) return isNull ? ['range', 'notNull'] : ['range'];
  return isNull || leading.isNeverNull === true ? ['range'] : ['range', 'null'];
}

/** @param first place of the position's first value among the inputs */
function pageBehind(position: Position, first: number): CursorPage {
  const isNull = position?.map((value) => value === null) ?? [];
  return {
    shape: shapeName(['cursor', position && isNull.join()]),
    parts: (context, chosen, order) => {
      const terms = orderTerms(context, chosen, order);
      return {
        position: terms.map((term, index) => exactValue(term, order[index])),
        parts: partsBehind(position, terms[0]).map((part) => {
          const beginning = { part, first, isNull };
          return {
            condition: conditionBehind(context, terms, beginning),
            order: orderList(orderOfPart(terms, beginning)),
          };
        }),
      };
    },
  };
}

/** The position behind which entities begin, without its values. */
interface Beginning {
  readonly part: Part;
  /** Position of the first value among the inputs. */
  readonly first: number;
  readonly isNull: readonly boolean[];
}

/** The order of a part. Among nulls the first direction means nothing, and ascending is that of the index. */
function orderOfPart(
  terms: readonly OrderTerm[],
  { part, isNull }: Beginning,
): readonly OrderTerm[] {
  const [leading, ...others] = terms;
  if (leading === undefined || (part !== 'null' && isNull[0] !== true)) return terms;
  return [{ ...leading, descending: false }, ...others];
}

/** A value that reaches the server with all its digits. @throws RequestError 400 with 1810 if none does */
function exactValue({ value, attribute }: OrderTerm, item: OrderItem | undefined): Sql {
  // A token shows the values of its order, and class code may order by what the client may not read.
  if (attribute === undefined || item?.names === 'granted') {
    throw refuse(
      'orderBy',
      `${item?.place ?? '$orderby'}: $cursor needs an order by stored attributes with one type; a similarity, a property of an object or an order of class code cannot be continued: use $skip instead.`,
    );
  }
  const { kind, type } = attribute;
  const hasDigits = type === 'integer' || type === 'duration' || type === 'decimal';
  return kind === 'storage' && hasDigits ? sql`cast(${value} as text)` : value;
}

/** The condition that an entity stands behind the position. */
function conditionBehind(
  context: QueryContext,
  terms: readonly OrderTerm[],
  { part, first, isNull }: Beginning,
): Sql | undefined {
  const [leading] = terms;
  if (leading === undefined || part === 'all') return undefined;
  const { value } = leading;
  if (part === 'null') return sql`${value} is null`;
  if (part === 'notNull') return sql`${value} is not null`;
  const bound = terms.map((term, index) =>
    isNull[index] === true ? undefined : boundTerm(context, term, first + index),
  );
  const last = terms.length - 1;
  let condition = isBehind(terms[last] as OrderTerm, bound[last]);
  for (let index = last - 1; index > 0; index -= 1) {
    const term = terms[index] as OrderTerm;
    condition = sql`(${isBehind(term, bound[index])} or (${isEqual(term, bound[index])} and ${condition}))`;
  }
  const given = bound[0];
  if (last === 0) return condition;
  if (given === undefined) return sql`${value} is null and ${condition}`;
  // The range that an index finds, without its beginning that the page before has shown.
  const [greater, orEqual] = leading.descending ? [sql`<`, sql`<=`] : [sql`>`, sql`>=`];
  return sql`${value} ${orEqual} ${given} and (${value} ${greater} ${given} or ${condition})`;
}

function boundTerm({ dialect, slots }: QueryContext, term: OrderTerm, input: number): Sql {
  const slot = slots.take(input, 'cursor', ({ value }) => value as SqlValue);
  const { type } = term.attribute as NonNullable<OrderTerm['attribute']>;
  return dialect.storedKey(sql`${slot}`, valueTypeOf(type));
}

function isEqual({ value }: OrderTerm, given: Sql | undefined): Sql {
  return given === undefined ? sql`${value} is null` : sql`${value} = ${given}`;
}

/** Null sorts before every value. */
function isBehind({ value, descending, isNeverNull }: OrderTerm, given: Sql | undefined): Sql {
  if (given === undefined) return descending ? never : sql`${value} is not null`;
  if (!descending) return sql`${value} > ${given}`;
  const isLess = sql`${value} < ${given}`;
  return isNeverNull === true ? isLess : sql`(${isLess} or ${value} is null)`;
}
