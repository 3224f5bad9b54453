import { column, keyColumn, type Source } from '../dataclass/source.js';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import { type ComputedPlace, computedMark, type Statement } from '../dialect/statement.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { QueryContext } from './context.js';
import { keyJson } from './value-json.js';

/** Collects the places of one statement where values of class code go. */
export class ComputedPlaces {
  readonly #places: ComputedPlace[] = [];
  readonly #numbers = new Map<string, number>();

  get list(): readonly ComputedPlace[] {
    return this.#places;
  }

  /** The number of a place; the same one for each entity of the answer. */
  numberOf(
    { dataclass }: Source,
    attribute: ComputedDefinition,
    form: ComputedPlace['form'],
  ): number {
    const name = `${dataclass.name} ${attribute.name} ${form}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#places.length;
    this.#places.push({ dataclass: dataclass.name, attribute, form });
    this.#numbers.set(name, number);
    return number;
  }
}

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

/** The statement of an answer, written: it knows where values of class code go. */
export function compileAnswer(
  { computed, dialect }: { readonly computed: ComputedPlaces; readonly dialect: Dialect },
  query: Sql,
): Statement {
  const statement = dialect.compile(query);
  return computed.list.length === 0 ? statement : { ...statement, computed: computed.list };
}
