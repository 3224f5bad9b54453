import { areLasting, type Parameters } from './parameters.js';

/**
 * Bytes of all that is remembered, for all dataclasses and views together; beyond it, everything is
 * made again when it is needed.
 */
const maxBytes = 16 * 1024 * 1024;

/** The longest SQL, in characters, that is remembered. */
const mostLength = 16 * 1024;

/**
 * The approximate size of a page in addition to its SQL, and for each character of the SQL,
 * including the statement that counts.
 */
const bytesOfEach = 2 * 1024;
const bytesPerCharacter = 4;

let all = new WeakMap<Parameters, Map<object, unknown>>();
/** Requests that differ only in values share one statement. */
let counted = new WeakSet<object>();
let bytes = 0;

/** Remembers what was made of parameters that later requests have, too. */
export class MadeOfParameters<T> {
  get(parameters: Parameters): T | undefined {
    return all.get(parameters)?.get(this) as T | undefined;
  }

  /** Remembers it, unless the parameters belong to one request, or its statement is too long. */
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
