import { areLasting, type Parameters } from './parameters.js';

/** Of all that is remembered, by all dataclasses and views together; beyond it, all is made anew when it is asked for again. */
const maxBytes = 16 * 1024 * 1024;

/** Characters of SQL of what is remembered. */
const mostLength = 16 * 1024;

/** What a page takes up, roughly: beside its SQL, and for each character of that, with the statement that counts. */
const bytesOfEach = 2 * 1024;
const bytesPerCharacter = 4;

let all = new WeakMap<Parameters, Map<object, unknown>>();
/** Requests that differ in values alone have one statement. */
let counted = new WeakSet<object>();
let bytes = 0;

/** What was made of parameters that later requests have, too. */
export class MadeOfParameters<T> {
  get(parameters: Parameters): T | undefined {
    return all.get(parameters)?.get(this) as T | undefined;
  }

  /**
   * Remembers it, unless the parameters are of one request, or its statement is too long.
   */
  set(parameters: Parameters, made: T, statement: { readonly sql: string }): void {
    const { length } = statement.sql;
    if (length > mostLength || !areLasting(parameters)) return;
    bytes += bytesOfEach + (counted.has(statement) ? 0 : length * bytesPerCharacter);
    if (bytes > maxBytes) {
      all = new WeakMap();
      counted = new WeakSet();
      bytes = bytesOfEach + length * bytesPerCharacter;
    }
    counted.add(statement);
    const known = all.get(parameters);
    if (known === undefined) all.set(parameters, new Map([[this, made]]));
    else known.set(this, made);
  }
}
