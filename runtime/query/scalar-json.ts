import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { Sql } from '../dialect/dialect.js';
import type { QueryContext } from './context.js';

/**
 * JSON of a value of an attribute that is no column any more, or `null`; in the form that the value has in an entity
 * (protocol section 5, decision 8).
 */
export function scalarJson(
  { dialect, options }: QueryContext,
  { type, dateOnly }: Pick<ColumnDefinition, 'type' | 'dateOnly'>,
  value: Sql,
): Sql {
  switch (type) {
    case 'string':
    case 'uuid':
      return dialect.jsonText(value);
    case 'date':
      return dateOnly === true && options.dateOnlyFormat === 'bang'
        ? dialect.jsonBangDate(value)
        : dialect.jsonText(value);
    case 'boolean':
      return dialect.jsonBoolean(value);
    case 'number':
    case 'integer':
    case 'duration':
      return dialect.jsonIfNumber(value);
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      throw new Error(`A value of the type ${type} is no scalar.`);
  }
}
