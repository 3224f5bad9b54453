import { sql } from 'kysely';
import type { Operator } from '../dialect.js';
import type { Sql } from '../sql.js';
import type { ValueType } from '../value-type.js';

/** What a bound value is read as. */
export const sqlTypes: Readonly<Record<ValueType, Sql>> = {
  text: sql`text`,
  number: sql`double precision`,
  integer: sql`bigint`,
  boolean: sql`smallint`,
};

/**
 * An integer is compared with an integer, so that an index serves, and a fraction or a number beyond all integers is brought
 * to one that says the same.
 */
export function compare(value: Sql, operator: Operator, wanted: Sql, type: ValueType): Sql {
  if (type !== 'integer' || operator === '=') {
    return sql`${value} ${sql.raw(operator)} ${compared(wanted, type)}`;
  }
  switch (operator) {
    case '<':
    case '>=':
      return sql`${value} ${sql.raw(operator)} drs_ceiling(${wanted})`;
    case '<=':
    case '>':
      return sql`${value} ${sql.raw(operator)} drs_floor(${wanted})`;
  }
}

/** A bound value as `=` compares it. */
export function compared(wanted: Sql, type: ValueType): Sql {
  return type === 'integer'
    ? sql`drs_integer(${wanted})`
    : sql`cast(${wanted} as ${sqlTypes[type]})`;
}

export function differs(value: Sql, wanted: Sql, type: ValueType): Sql {
  return type === 'integer'
    ? sql`not coalesce(${compare(value, '=', wanted, type)}, 1 = 0)`
    : sql`${value} is distinct from cast(${wanted} as ${sqlTypes[type]})`;
}

/** The items of a bound JSON list as rows: `key` is the position, `value` the item; one that no integer equals is null. */
export function listItems(list: Sql, type: ValueType): Sql {
  const items = sql`json_array_elements_text(cast(${list} as json)) with ordinality as "__item" ("text", "position")`;
  return sql`select "position" - 1 as "key", ${item(type)} as "value" from ${items}`;
}

function item(type: ValueType): Sql {
  switch (type) {
    case 'text':
      return sql`"__item"."text"`;
    case 'number':
      return sql`drs_double("__item"."text")`;
    case 'integer':
      return sql`case when "__item"."text" ~ '^-?[0-9]{1,16}$' then cast("__item"."text" as bigint) else drs_integer(drs_double("__item"."text")) end`;
    case 'boolean':
      return sql`cast("__item"."text" as smallint)`;
  }
}
