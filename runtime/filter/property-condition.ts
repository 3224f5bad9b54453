import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import type { ByKind, JsonPlace } from '../dialect/json-access.js';
import type { Comparator } from './ast.js';
import { takesPattern, wrongComparator } from './comparing.js';
import type { FilterContext } from './context.js';
import type { Pending } from './resolve.js';
import { type Operand, valueCondition, wantedValue } from './value-condition.js';
import { propertyBoolean, propertyNumber, propertyText } from './values.js';

/**
 * A comparison with what stands in an object. A value is compared with those of its own JSON type alone (decision 24): the
 * input is bound as a text, a number and a boolean, null for what it is not, so that one statement serves every value.
 */
export function propertyCondition(
  context: FilterContext,
  place: JsonPlace,
  { node, comparator }: Pick<Pending, 'node' | 'comparator'>,
): Sql {
  const input = context.inputs.get(node);
  const isNull = sql`${place.value} is null`;
  const hasNull = input === undefined || context.nulls.has(input);
  if (input === undefined || (hasNull && comparator !== 'in')) {
    if (comparator === '=') return isNull;
    throw wrongComparator(node, 'null is compared with = or != only');
  }
  const isPattern = takesPattern(context, node, input);
  const condition = context.dialect.json.byKind(
    place,
    conditions(context, place.value, comparator, {
      text: { input, kind: 'text', type: 'text', convert: propertyText(context), isPattern },
      number: { input, kind: 'number', type: 'number', convert: propertyNumber, isPattern: false },
      boolean: {
        input,
        kind: 'boolean',
        type: 'boolean',
        convert: propertyBoolean,
        isPattern: false,
      },
    }),
  );
  return hasNull ? sql`(${condition} or ${isNull})` : condition;
}

function conditions(
  context: FilterContext,
  value: Sql,
  comparator: Comparator,
  operands: Readonly<Record<keyof ByKind, Operand>>,
): ByKind {
  const folded = context.dialect.fold(value);
  const double = context.dialect.json.double(value);
  const boolean = context.dialect.json.boolean(value);
  switch (comparator) {
    case '===':
    case '!=':
    case '!==':
      throw new Error(`${comparator} is written as another comparator or its opposite.`);
    case 'begin':
    case 'contains':
    case '%':
      return { text: valueCondition(context, folded, comparator, operands.text) };
    case 'in':
      return {
        text: valueCondition(context, folded, comparator, operands.text),
        number: valueCondition(context, double, comparator, operands.number),
        boolean: valueCondition(context, boolean, comparator, operands.boolean),
      };
    case '=':
    case '<':
    case '<=':
    case '>':
    case '>=': {
      // Nothing is folded to be compared with a number.
      const wantedText = context.dialect.bound(wantedValue(context, operands.text), 'text');
      const isText = sql`${wantedText} is not null`;
      return {
        text: sql`(${isText} and ${valueCondition(context, folded, comparator, operands.text)})`,
        number: valueCondition(context, double, comparator, operands.number),
        boolean: valueCondition(context, boolean, comparator, operands.boolean),
      };
    }
  }
}
