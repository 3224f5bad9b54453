import { areLasting, type Parameters } from './parameters.js';

/** Characters of SQL of what is remembered: query strings are remembered by the thousand. */
const mostLength = 16 * 1024;

/** What was made of parameters that later requests have, too. */
export class MadeOfParameters<T> {
  readonly #made = new WeakMap<Parameters, T>();

  get(parameters: Parameters): T | undefined {
    return this.#made.get(parameters);
  }

  /**
   * Remembers it, unless the parameters are of one request, or the statement is too long.
   * @param sql of its statement
   */
  set(parameters: Parameters, made: T, { sql }: { readonly sql: string }): void {
    if (sql.length <= mostLength && areLasting(parameters)) this.#made.set(parameters, made);
  }
}
