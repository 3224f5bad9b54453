import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { SqlValue } from '../dialect/statement.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import { numberJson } from '../protocol/numbers.js';
import type { FilterContext } from './context.js';
import { isList, wrongParam } from './params.js';
import type { Convert, FilterInput } from './slots.js';

/** A value of an attribute's type. */
export function attributeValue({ dialect }: FilterContext, attribute: ColumnDefinition): Convert {
  const { type } = attribute;
  const dateOnly = attribute.dateOnly === true;
  return single((input) => comparisonValue(type, dateOnly, input, dialect.foldText));
}

/** Text of a property of an object; null for everything that is no text. */
export function propertyText({ dialect }: FilterContext): Convert {
  return single((input) =>
    typeof input.value === 'string'
      ? (comparisonValue('string', false, input, dialect.foldText) ?? null)
      : null,
  );
}

/** Number of a property of an object; null for everything that is no number. */
export const propertyNumber = single(({ value }) => (typeof value === 'number' ? value + 0 : null));

/** 0 or 1 for a boolean of a property of an object; null for everything else. */
export const propertyBoolean = single(({ value }) =>
  typeof value === 'boolean' ? Number(value) : null,
);

/** A list or an object is no value that anything can be compared with (protocol 7.7). */
function single(convert: Convert): Convert {
  return (input) => {
    const { value, placeholder } = input;
    if (typeof value === 'object' && value !== null && placeholder !== undefined) {
      throw wrongParam(placeholder, 'a text, a number, true, false or null', value);
    }
    return convert(input);
  };
}

/**
 * The members of a list that `convert` makes something of, as one JSON list; nulls are left out.
 * @throws RequestError 400 with 1280 for what is no list
 */
export function listOf(convert: Convert): Convert {
  return (input) => {
    const members: string[] = [];
    for (const item of itemsOf(input)) {
      const value = item.value === null ? null : (convert(item) ?? null);
      if (value !== null) members.push(jsonOf(value));
    }
    return `[${members.join()}]`;
  };
}

/** The members of a list; their placeholder is that of the list, where it came as a whole. */
export function itemsOf({ value, placeholder, items }: FilterInput): readonly FilterInput[] {
  if (items !== undefined) return items;
  if (isList(value)) {
    return value.map((member) =>
      placeholder === undefined ? { value: member } : { value: member, placeholder },
    );
  }
  if (placeholder !== undefined) throw wrongParam(placeholder, 'a list', value);
  throw new Error('IN stands before a list.');
}

function jsonOf(value: Exclude<SqlValue, null>): string {
  return typeof value === 'number' ? numberJson(value) : JSON.stringify(value);
}
