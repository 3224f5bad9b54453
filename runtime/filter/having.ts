import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import type { ByKind } from '../dialect/json-access.js';
import { RequestError } from '../protocol/errors.js';
import type { AttributePath, ComparisonNode, FilterNode } from './ast.js';
import { type ComparedValue, typedCondition } from './condition.js';
import { all, any, type FilterContext, not } from './context.js';
import { propertyCondition, type PropertyValue } from './elements.js';
import { type Cursor, filterError } from './lexer.js';
import { type FilterParser, inputPositions, type PreparedFilter } from './prepared-filter.js';
import { plainComparator } from './resolve.js';
import { takeTerm, type Term } from './term.js';
import { conjuncts } from './to-sql.js';
import { attributeValue, totalValue } from './value-condition.js';

/** A value of a group, for conditions and orders. */
export type GroupValue = TypedGroupValue | PropertyGroupValue;

/** A value of one type. */
export interface TypedGroupValue extends Omit<ComparedValue, 'convert' | 'nullable'> {
  readonly dateOnly?: true;
  /** Decimals of a decimal. */
  readonly scale?: number;
}

/** A value of a property: at most one of the expressions is not null. */
export interface PropertyGroupValue {
  readonly type: 'property';
  readonly as: PropertyValue['as'];
}

/** Takes a term as if it were a path with one name, which {@link havingCondition} reads again. */
function takeCompared(cursor: Cursor): AttributePath {
  const { start } = takeTerm(cursor, filterError);
  const { text, at: end } = cursor;
  const step = { name: text.slice(start, end), ordinal: 1, element: undefined, start, end };
  return { steps: [step], start, end };
}

/** Parses a `$having`: a filter with terms in the place of paths. @throws RequestError 400 with 1162 */
export function parseHaving(filters: FilterParser, text: string): PreparedFilter {
  return inHaving(() => {
    const having = filters.prepareWith(takeCompared, text);
    if (having.orderBy === undefined) return having;
    throw filterError(having.orderBy.start, 'groups are ordered by $orderby, not by order by');
  });
}

const inFilter = /^(Character \d+ of )\$filter:/;

/** Runs what may throw an error about a filter, which is the `$having` here. */
export function inHaving<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const isAboutFilter = error.errors.some(({ message }) => inFilter.test(message));
    if (!isAboutFilter) throw error;
    const errors = error.errors.map((each) => ({
      ...each,
      message: each.message.replace(inFilter, '$1$having:'),
    }));
    throw new RequestError(error.status, errors);
  }
}

/**
 * Writes a `$having` as a condition over groups.
 * @param first the position of its first input among those of the request
 * @throws RequestError 400 with 1162 or 1112
 */
export function havingCondition(
  context: Omit<FilterContext, 'inputs'>,
  { filter }: PreparedFilter,
  first: number,
  valueOf: (term: Term) => GroupValue,
): Sql {
  const positions = [...inputPositions(filter)];
  const inputs = new Map(positions.map(([node, position]) => [node, first + position]));
  const slots: FilterContext['slots'] = {
    take: (input, purpose, convert) =>
      context.slots.take(input, purpose, (given) => inHaving(() => convert(given))),
  };
  return inHaving(() => conditionOf({ ...context, slots, inputs }, filter, valueOf));
}

function conditionOf(
  context: FilterContext,
  filter: FilterNode,
  valueOf: (term: Term) => GroupValue,
): Sql {
  const alternatives: FilterNode[] = [];
  let node = filter;
  for (; node.kind === 'or'; node = node.left) alternatives.unshift(node.right);
  alternatives.unshift(node);
  return any(
    alternatives.map((alternative) =>
      all(
        conjuncts(alternative).map(({ node: each, negated }) => {
          const condition =
            each.kind === 'comparison'
              ? comparison(context, each, valueOf)
              : conditionOf(context, each, valueOf);
          return negated ? not(condition) : condition;
        }),
      ),
    ),
  );
}

function comparison(
  context: FilterContext,
  node: ComparisonNode,
  valueOf: (term: Term) => GroupValue,
): Sql {
  const { start, steps } = node.path;
  const term = takeTerm({ text: steps[0]?.name ?? '', at: 0 }, filterError);
  const value = valueOf({ ...term, start });
  const comparator = plainComparator(node.comparator);
  if (value.type !== 'property') {
    const convert =
      value.valueType === 'total'
        ? totalValue(context)
        : attributeValue(context, value, comparator);
    return typedCondition(context, { node, comparator }, { ...value, convert });
  }
  const { as } = value;
  const property: PropertyValue = {
    as,
    isNull: sql`(${as.boolean} is null and ${as.number} is null and ${as.text} is null)`,
    byKind: (kinds) => byType(as, kinds),
  };
  return comparator === '!='
    ? not(propertyCondition(context, property, { node, comparator: '=' }))
    : propertyCondition(context, property, { node, comparator });
}

/** The expression for the type that a property's value has. */
export function byType(as: PropertyValue['as'], kinds: ByKind): Sql {
  const cases = (['boolean', 'number', 'text'] as const).flatMap((type) => {
    const written = kinds[type];
    return written === undefined ? [] : [sql`when ${as[type]} is not null then ${written}`];
  });
  return sql`case ${sql.join(cases, sql` `)} end`;
}
