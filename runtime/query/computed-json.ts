import { column, keyColumn, type Source } from '../dataclass/source.js';
import type { JsonPart } from '../dialect/dialect.js';
import { computedMark, type ComputedPlace } from '../dialect/statement.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { QueryContext } from './context.js';
import { keyJson } from './value-json.js';

/** What stands for the value of an attribute until class code has computed it: which one, and of which entity. */
export function computedJson(
  context: QueryContext,
  source: Source,
  attribute: ComputedDefinition,
  form: ComputedPlace['form'] = 'json',
): readonly JsonPart[] {
  const number = context.computed.numberOf(source, attribute, form);
  return [
    `${computedMark}${number},`,
    column(source, '__STAMP'),
    ',',
    ...keyJson(context, source.dataclass.key, keyColumn(source)),
    computedMark,
  ];
}
