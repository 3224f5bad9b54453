import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { JsonPlace } from '../dialect/json-access.js';
import type { Aggregate } from './compute-keyword.js';
import type { ComputePass } from './compute-pass.js';
import type { QueryContext } from './context.js';
import { scalarJson } from './scalar-json.js';
import type { RowValue, ValueRows } from './value-rows.js';

/** The rows once more, under names of their own: what text was found is looked up there as it is stored. */
export type WriteRows = () => ValueRows;

/** JSON of an aggregate of a column's values. */
export function columnAggregate(
  context: QueryContext,
  pass: ComputePass,
  attribute: ColumnDefinition,
  { stored, comparable }: Extract<RowValue, { kind: 'column' }>,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  switch (aggregate) {
    case 'count':
      return pass.count(stored);
    case 'sum':
      return pass.sum(stored);
    case 'average':
      return pass.average(stored);
    case 'min':
    case 'max': {
      const extreme =
        aggregate === 'min' ? pass.least('value', comparable) : pass.greatest('value', comparable);
      if (attribute.type !== 'string') return scalarJson(context, attribute, extreme);
      return context.dialect.jsonText(storedText(rows(), extreme));
    }
  }
}

/** Of texts that are equal but for case, the first by code point. */
function storedText({ value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'property') throw new Error('The values are no column.');
  return sql`(select min(${value.stored}) ${where(sql`${value.comparable} = ${folded}`)})`;
}

/**
 * JSON of an aggregate of values that may be of any type. The sum and the average are those of the numbers; the least and the
 * greatest value are the ends of what `$distinct` lists: booleans, then numbers, then texts.
 */
export function propertyAggregate(
  { dialect }: QueryContext,
  pass: ComputePass,
  place: JsonPlace,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  const { value } = place;
  const numbers = dialect.json.byKind(place, { number: dialect.json.number(value) });
  switch (aggregate) {
    case 'count':
      return pass.count(value);
    case 'sum':
      return pass.sum(numbers);
    case 'average':
      return pass.average(numbers);
    case 'min':
    case 'max': {
      const extreme = (kind: string, values: Sql): Sql =>
        aggregate === 'min' ? pass.least(kind, values) : pass.greatest(kind, values);
      const number = extreme('number', numbers);
      const text = extreme('text', dialect.json.byKind(place, { text: dialect.fold(value) }));
      const boolean = extreme(
        'boolean',
        dialect.json.byKind(place, { boolean: dialect.json.boolean(value) }),
      );
      const cases = [
        sql`when ${boolean} is not null then ${dialect.jsonBoolean(boolean)}`,
        sql`when ${number} is not null then ${dialect.concat([dialect.jsonIfNumber(number)])}`,
        sql`when ${text} is not null then ${dialect.jsonText(storedProperty(dialect, rows(), text))}`,
      ];
      if (aggregate === 'max') cases.reverse();
      return sql`case ${sql.join(cases, sql` `)} else 'null' end`;
    }
  }
}

function storedProperty(dialect: Dialect, { value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'column') throw new Error('The values are no properties.');
  const { place } = value;
  const text = dialect.json.byKind(place, { text: place.value });
  const comparable = dialect.json.byKind(place, { text: dialect.fold(place.value) });
  return sql`(select min(${text}) ${where(sql`${comparable} = ${folded}`)})`;
}
