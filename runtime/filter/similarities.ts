import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';

/**
 * What the filter of a statement compares vectors with, for an order by the same attributes; the
 * first comparison in the filter counts (protocol P3.16).
 */
export class Similarities {
  readonly #first = new Map<string, { readonly input: number; readonly rank: () => Sql }>();

  /**
   * @param input position of the comparison's value among the filter's inputs, which are in the
   * order of its text
   * @param rank grows as the similarity falls; null if there is none
   */
  note(source: Source, { name }: ColumnDefinition, input: number, rank: () => Sql): void {
    const known = this.#first.get(keyOf(source, name));
    if (known === undefined || input < known.input) {
      this.#first.set(keyOf(source, name), { input, rank });
    }
  }

  /** `undefined` if the filter does not compare the vector. */
  rankOf(source: Source, attribute: string): Sql | undefined {
    return this.#first.get(keyOf(source, attribute))?.rank();
  }
}

function keyOf({ alias }: Source, attribute: string): string {
  return `${alias}.${attribute}`;
}
