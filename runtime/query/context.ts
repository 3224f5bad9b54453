import type { Aliases } from '../dataclass/aliases.js';
import type { Source } from '../dataclass/dataclasses.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { FilterSlots } from '../filter/slots.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { ComputedPlace, Statement } from '../dialect/statement.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { Followed, Similarities } from '../filter/context.js';
import type { ExpandedValues } from './expansions.js';

/** The settings of the model and the environment for answers. */
export interface AnswerOptions {
  /** Entities in a page if the client names no number. */
  readonly pageSize: number;
  readonly dateOnlyFormat: 'iso' | 'bang';
  /** The value of `$format` for the report format. */
  readonly reportFormat: string;
}

/** What the parts of one statement share while they are written. */
export interface QueryContext {
  readonly dialect: Dialect;
  readonly aliases: Aliases;
  readonly options: AnswerOptions;
  /** The values that the filters bind. */
  readonly slots: FilterSlots;
  readonly similarities: Similarities;
  /** The places of the answer for values of class code. */
  readonly computed: ComputedPlaces;
  /** The values of expansions. */
  readonly expanded: ExpandedValues;
  /** Counts the relations that the filters of all expansions follow. */
  readonly followedByExpansions: Followed;
}

/** Collects the places of one statement for values of class code. */
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
    format: ComputedPlace['format'],
  ): number {
    const name = `${dataclass.name} ${attribute.name} ${format}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#places.length;
    this.#places.push({ dataclass: dataclass.name, attribute, format });
    this.#numbers.set(name, number);
    return number;
  }
}

/** The compiled statement of an answer, with the places for values of class code. */
export function compileAnswer(
  { computed, dialect }: { readonly computed: ComputedPlaces; readonly dialect: Dialect },
  query: Sql | BuiltQuery,
): Statement {
  const statement = dialect.compile(query);
  return computed.list.length === 0 ? statement : { ...statement, computed: computed.list };
}
