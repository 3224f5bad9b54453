import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import { type RequestError, refuse } from '../protocol/errors.js';
import type {
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageType,
} from '../protocol/definition.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { column, type Source } from '../dataclass/source.js';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Comparator, ComparisonNode } from './ast.js';
import { placeholderName } from './placeholder.js';
import type { Convert, FilterInput } from './slots.js';
import type { FilterContext } from './context.js';

/** A comparison at the end of its path. */
export interface Comparison {
  readonly node: ComparisonNode;
  readonly comparator: Comparator;
  readonly end: ColumnDefinition | RelatedEntityDefinition | RelatedEntitiesDefinition;
}

const orders: Readonly<Partial<Record<Comparator, Sql>>> = {
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

/** A blob is greater than every text: the end of a range that has none. */
const afterEveryText = new Uint8Array(0);

/** One comparison as SQL; null compares as decision 11 says. */
export function condition(context: FilterContext, source: Source, comparison: Comparison): Sql {
  const { node, comparator } = comparison;
  const attribute = comparedAttribute(source, comparison);
  const input = context.inputs.get(node);
  if (input === undefined || context.nulls.has(input)) {
    return nullCondition(context, source, attribute, comparison);
  }
  checkComparator(attribute, comparison);
  if (context.mismatched.has(input)) return comparator === '!=' ? sql`1 = 1` : sql`1 = 0`;
  const compared = comparableColumn(context.dialect, source, attribute);
  if (comparator === 'begin') return beginCondition(context, compared, attribute, input);
  const value = context.slots.take(input, 'value', converter(context, attribute));
  if (comparator === '=') return sql`${compared} = ${value}`;
  if (comparator === '!=') return sql`${compared} is not ${value}`;
  return sql`${compared} ${orders[comparator] ?? unknownComparator(comparison)} ${value}`;
}

/** A to-one relation is compared by the key that it holds. */
function comparedAttribute(source: Source, { end, node }: Comparison): ColumnDefinition {
  if (end.kind === 'relatedEntity') return source.dataclass.foreignKey(end);
  if (end.kind === 'relatedEntities') {
    throw wrongComparator(node, `the to-many relation ${written(node)} has no value of its own`);
  }
  return end;
}

function nullCondition(
  context: FilterContext,
  source: Source,
  attribute: ColumnDefinition,
  { node, comparator }: Comparison,
): Sql {
  const value = column(source, attribute.column);
  const isLarge = attribute.type === 'image' || attribute.type === 'blob';
  const isNull = isLarge ? context.dialect.isNull(value) : sql`${value} is null`;
  if (comparator === '=') return isNull;
  if (comparator === '!=') return sql`not (${isNull})`;
  throw wrongComparator(node, 'null is compared with = or != only');
}

/** The range of texts that begin with the value, so that an index serves it. */
function beginCondition(
  context: FilterContext,
  compared: Sql,
  attribute: ColumnDefinition,
  input: number,
): Sql {
  const convert = converter(context, attribute);
  const first = context.slots.take(input, 'value', convert);
  const end = context.slots.take(input, 'end', (given) => {
    const prefix = convert(given);
    return typeof prefix === 'string' ? endOfPrefix(prefix) : undefined;
  });
  return sql`(${compared} >= ${first} and ${compared} < ${end})`;
}

/** The least text, by code point, that is greater than every text with this prefix. */
function endOfPrefix(prefix: string): string | Uint8Array {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    // Surrogates are no characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next);
  }
  return afterEveryText;
}

function converter({ dialect }: FilterContext, attribute: ColumnDefinition): Convert {
  const { type } = attribute;
  const dateOnly = attribute.dateOnly === true;
  return (input) => {
    refuseComposite(input);
    return comparisonValue(type, dateOnly, input, dialect.foldText);
  };
}

/** A list or an object is no value of any attribute that can be compared (protocol 7.7). */
function refuseComposite({ value, placeholder }: FilterInput): void {
  if (typeof value !== 'object' || value === null || placeholder === undefined) return;
  const found = Array.isArray(value) ? 'a list' : 'an object';
  const expected = 'expected a text, a number, true, false or null';
  throw refuse(
    'placeholderType',
    `Character ${placeholder.start + 1} of $filter: ${expected} as the value of :${placeholderName(placeholder)} in $params, found ${found}.`,
  );
}

/** The types that each family of comparators makes sense for. */
const orderedTypes: ReadonlySet<StorageType> = new Set<StorageType>([
  'string',
  'uuid',
  'number',
  'integer',
  'date',
  'duration',
]);

function checkComparator({ type }: ColumnDefinition, { node, comparator }: Comparison): void {
  const name = written(node);
  if (type === 'vector' || type === 'object') {
    throw refuse(
      'notBuilt',
      `${at(node)}: the ${type} attribute ${name} can be compared with null only, so far.`,
    );
  }
  if (type === 'image' || type === 'blob') {
    throw wrongComparator(node, `the ${type} attribute ${name} can be compared with null only`);
  }
  if (comparator === '=' || comparator === '!=') return;
  if (comparator === 'begin' ? type !== 'string' : !orderedTypes.has(type)) {
    throw wrongComparator(node, `${comparator} does not apply to the ${type} attribute ${name}`);
  }
}

function unknownComparator({ node, comparator }: Comparison): never {
  throw refuse('notBuilt', `${at(node)}: the comparator ${comparator} is not supported yet.`);
}

function wrongComparator(node: ComparisonNode, reason: string): RequestError {
  return refuse('wrongComparator', `${at(node)}: ${reason}.`);
}

/** The path as the client wrote it: what it leads to may have a name that clients do not know. */
function written({ path }: ComparisonNode): string {
  return path.steps.map((step) => step.name).join('.');
}

function at(node: ComparisonNode): string {
  return `Character ${node.path.start + 1} of $filter`;
}
