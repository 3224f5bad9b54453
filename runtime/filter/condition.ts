import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { comparableColumn, nullableColumn } from '../dataclass/comparable.js';
import type { Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { StorageType } from '../protocol/definition.js';
import type { Comparator } from './ast.js';
import { takesPattern, wrongComparator, written } from './comparing.js';
import type { FilterContext } from './context.js';
import { always, never, not } from './logic.js';
import { incomparable, type Pending } from './resolve.js';
import { valueCondition, wantedValue } from './value-condition.js';
import { attributeValue } from './values.js';
import { vectorCondition } from './vector-condition.js';

/** A comparison at the end of its path. */
export type Comparison = Pick<Pending, 'node' | 'comparator' | 'end'>;

/** One comparison with an attribute as SQL; null compares as decision 11 says. */
export function condition(context: FilterContext, source: Source, comparison: Comparison): Sql {
  const { node, comparator } = comparison;
  const attribute = comparedAttribute(source, comparison);
  context.compared?.(node, source, attribute);
  const input = context.inputs.get(node);
  if (input === undefined || (context.nulls.has(input) && comparator !== 'in')) {
    return nullCondition(context, source, attribute, comparison);
  }
  if (attribute.type === 'vector') return vectorCondition(context, source, attribute, node, input);
  checkComparator(attribute, comparison);
  if (context.mismatched.has(input)) return comparator === '!=' ? always : never;
  const compared = comparableColumn(context.dialect, source, attribute);
  const isPattern = attribute.type === 'string' && takesPattern(context, node, input);
  const convert = attributeValue(context, attribute);
  const type = valueTypeOf(attribute.type);
  const operand = { input, kind: 'value', type, convert, isPattern };
  switch (comparator) {
    case '===':
    case '!==':
      throw new Error(`${comparator} is written as another comparator.`);
    case '!=':
      return isPattern
        ? not(valueCondition(context, compared, '=', operand))
        : context.dialect.differs(compared, wantedValue(context, operand), type);
    case 'in': {
      const isMember = valueCondition(context, compared, comparator, operand);
      if (!context.nulls.has(input)) return isMember;
      return sql`(${isMember} or ${nullableColumn(source, attribute)} is null)`;
    }
    case '=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'begin':
    case 'contains':
    case '%':
      return valueCondition(context, compared, comparator, operand);
  }
}

/** A to-one relation is compared by the key that it holds. */
function comparedAttribute(source: Source, { end, node }: Comparison): ColumnDefinition {
  if (end.kind === 'relatedEntity') return source.dataclass.foreignKey(end);
  if (end.kind === 'relatedEntities') {
    throw wrongComparator(node, `the to-many relation ${written(node)} has no value of its own`);
  }
  if (end.kind === 'computed') throw incomparable(node);
  return end;
}

function nullCondition(
  context: FilterContext,
  source: Source,
  attribute: ColumnDefinition,
  { node, comparator }: Comparison,
): Sql {
  const value = nullableColumn(source, attribute);
  const isLarge = attribute.type === 'image' || attribute.type === 'blob';
  const isNull = isLarge ? context.dialect.isNull(value) : sql`${value} is null`;
  if (comparator === '=') return isNull;
  if (comparator === '!=') return sql`not (${isNull})`;
  throw wrongComparator(node, 'null is compared with = or != only');
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

const comparators: Readonly<Record<Comparator, (type: StorageType) => boolean>> = {
  '=': () => true,
  '===': () => true,
  '!=': () => true,
  '!==': () => true,
  in: () => true,
  '<': (type) => orderedTypes.has(type),
  '<=': (type) => orderedTypes.has(type),
  '>': (type) => orderedTypes.has(type),
  '>=': (type) => orderedTypes.has(type),
  begin: (type) => type === 'string',
  contains: (type) => type === 'string',
  '%': (type) => type === 'string',
};

/** @throws RequestError 400 with 1112 for a comparator that does not apply to values of the type */
export function checkComparator(
  { type }: { readonly type: StorageType },
  { node, comparator }: Pick<Comparison, 'node' | 'comparator'>,
): void {
  const name = written(node);
  if (type === 'object') {
    const problem = `the object attribute ${name} can be compared with null only; its properties`;
    throw wrongComparator(node, `${problem} can be compared, ${name}.<property> for instance`);
  }
  if (type === 'image' || type === 'blob') {
    throw wrongComparator(node, `the ${type} attribute ${name} can be compared with null only`);
  }
  if (!comparators[comparator](type)) {
    throw wrongComparator(node, `${comparator} does not apply to the ${type} attribute ${name}`);
  }
}
