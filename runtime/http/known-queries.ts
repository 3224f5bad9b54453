import { parse } from 'fast-querystring';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Parameters, RequestMode } from '../query/parameters.js';

/** What a query string says, as texts, or lists of them. Requests share it, so that it cannot be changed. */
export type Query = Readonly<Record<string, unknown>>;

/** What was made of a query string that has come before. */
export type KnownQuery = Record<RequestMode, Parameters | undefined>;

/** Of all query strings that are remembered. */
const maxBytes = 4 * 1024 * 1024;
/** Of one, with all that is made of it elsewhere. */
const bytesOfEach = 4 * 1024;

const comeOnce = Symbol('come once');
const made = Symbol('made');

interface Remembered {
  readonly [made]?: KnownQuery;
}

const known = new BoundedCache<Query | typeof comeOnce>(maxBytes, () => bytesOfEach);

/** Parses a query string as Fastify does; one that has come before is parsed once. */
export function parseQuery(text: string): Query {
  const before = known.get(text);
  if (before !== undefined && before !== comeOnce) return before;
  const query = parse(text);
  // Of one that comes only once, nothing but its text is worth being kept.
  if (before === undefined) {
    known.set(text, comeOnce);
  } else {
    // Copies of it are not to be taken for it.
    Object.defineProperty(query, made, {
      value: { read: undefined, write: undefined },
      enumerable: false,
    });
    known.set(text, query);
  }
  for (const value of Object.values(query)) Object.freeze(value);
  return Object.freeze(query);
}

/** Where to keep what is made of a query; nothing for one that has not come before, or was made otherwise. */
export function knownQuery(query: Query): KnownQuery | undefined {
  return (query as Remembered)[made];
}
