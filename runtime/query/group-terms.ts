import type { LongNames } from '../protocol/names.js';
import { found, nameEnd } from '../protocol/names.js';
import { type ErrorName, refuse, type RequestError } from '../protocol/errors.js';
import { blanksEnd } from '../filter/lexer.js';
import { takeTerm, type Term } from '../filter/term.js';

/** Parameters with lists of terms. */
type TermList = '$groupby' | '$compute' | '$orderby' | '$filter';

/** A term by which groups are ordered. */
export interface OrderedTerm extends Term {
  readonly descending: boolean;
}

/** Parameters with terms. */
export type TermPlace = TermList | '$having';

const errorNames: Readonly<Record<TermPlace, ErrorName>> = {
  $groupby: 'attributeList',
  $compute: 'computeAction',
  $orderby: 'orderBy',
  $filter: 'orderBy',
  $having: 'invalidQuery',
};

/** Greatest number of terms in a list. */
const limits: Readonly<Record<TermList, number>> = {
  $groupby: 20,
  $compute: 50,
  $orderby: 50,
  $filter: 50,
};

/** Reads lists of terms, with commas between them; a term that was named before is left out. */
export class TermReader {
  /** @param long names of the model that need no brackets */
  constructor(private readonly long?: LongNames) {}

  /** @throws RequestError 400 with 1804 */
  keys(text: string): readonly Term[] {
    const keys = this.#list(text, '$groupby', 0, false);
    for (const { aggregate, name, start } of keys) {
      if (aggregate === undefined) continue;
      const hint =
        name === 'count' ? '; an attribute of that name is written [count]' : ', in $compute';
      const problem = `expected an attribute: ${name} is computed for each group${hint}`;
      throw termError('$groupby', start, problem);
    }
    return keys;
  }

  /** @throws RequestError 400 with 1817 */
  computed(text: string): readonly Term[] {
    const terms = this.#list(text, '$compute', 0, false);
    for (const { aggregate, start } of terms) {
      if (aggregate !== undefined) continue;
      const expected = 'beside $groupby, expected count, or count, sum, average, min or max';
      throw termError('$compute', start, `${expected} with a path in parentheses`);
    }
    return terms;
  }

  /** @throws RequestError 400 with 1810 */
  order(text: string, parameter: '$orderby' | '$filter', origin: number): readonly OrderedTerm[] {
    return this.#list(text, parameter, origin, true);
  }

  #list(
    text: string,
    parameter: TermList,
    origin: number,
    isOrder: boolean,
  ): readonly OrderedTerm[] {
    const terms = new Map<string, OrderedTerm>();
    const cursor = { text, at: 0 };
    const fail = (offset: number, problem: string, name?: ErrorName): RequestError =>
      termError(parameter, origin + offset, problem, name);
    for (;;) {
      const term = takeTerm(cursor, fail, this.long);
      let at = blanksEnd(text, cursor.at);
      let descending = false;
      if (isOrder) {
        const end = nameEnd(text, at);
        const word = text.slice(at, end).toLowerCase();
        if (word !== '' && word !== 'asc' && word !== 'desc') {
          throw fail(at, `expected ASC, DESC or a comma, ${found(text, at)}`);
        }
        descending = word === 'desc';
        at = blanksEnd(text, end);
      }
      if (!terms.has(term.name)) {
        if (terms.size === limits[parameter]) {
          throw fail(term.start, `expected at most ${limits[parameter]} terms`);
        }
        terms.set(term.name, { ...term, start: origin + term.start, descending });
      }
      if (at === text.length) return [...terms.values()];
      if (text.charCodeAt(at) !== 0x2c) {
        throw fail(at, `expected a comma or the end, ${found(text, at)}`);
      }
      cursor.at = at + 1;
    }
  }
}

/** Refuses a parameter at a character of it. */
export function termError(
  parameter: TermPlace,
  offset: number,
  problem: string,
  name: ErrorName = errorNames[parameter],
): RequestError {
  return refuse(name, `Character ${offset + 1} of ${parameter}: ${problem}.`);
}
