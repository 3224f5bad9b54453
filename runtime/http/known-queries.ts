import { parse } from 'fast-querystring';
import { BoundedCache } from '../dialect/bounded-cache.js';
import { ownText } from '../protocol/own-text.js';
import type { Parameters, RequestMode } from '../query/parameters.js';

/** A parsed query string: texts, or lists of them. */
export type Query = Record<string, unknown>;

/** The parameters read from a query string that has come before. */
export type KnownQuery = Record<RequestMode, Parameters | undefined>;

interface Remembered {
  readonly query: Readonly<Query>;
  readonly names: readonly string[];
  readonly known: KnownQuery;
}

/** Bytes of all remembered query strings. */
const maxBytes = 4 * 1024 * 1024;
/** Bytes of one, in addition to its text. */
const bytesOfEach = 2 * 1024;

const comeOnce = Symbol('come once');

const remembered = new BoundedCache<Remembered | typeof comeOnce>(maxBytes, () => bytesOfEach);

/**
 * A query that has come before. Each request has its own object, because handlers may change it.
 */
class KnownQueryObject {
  [name: string]: unknown;
  readonly #of: Remembered;

  constructor(of: Remembered) {
    this.#of = of;
    const { query, names } = of;
    for (const name of names) this[name] = query[name];
  }

  /** The remembered parameters, unless the query was changed meanwhile. */
  static knownOf(query: Query): KnownQuery | undefined {
    if (!(#of in query)) return undefined;
    const before = query.#of;
    let count = 0;
    for (const name in query) {
      if (query[name] !== before.query[name]) return undefined;
      count += 1;
    }
    return count === before.names.length ? before.known : undefined;
  }
}
// The parser's objects have no other members than those that a client sent, either.
Reflect.deleteProperty(KnownQueryObject.prototype, 'constructor');
Object.setPrototypeOf(KnownQueryObject.prototype, null);

/** Parses a query string as Fastify does; one that has come before is parsed once. */
export function parseQuery(text: string): Query {
  if (text === '') return parse(text);
  const before = remembered.get(text);
  // Only the text is kept of a query string that has come once.
  if (before === undefined) {
    remembered.set(ownText(text), comeOnce);
    return parse(text);
  }
  if (before !== comeOnce) return new KnownQueryObject(before);
  const own = ownText(text);
  const query = parse(own);
  // Lists belong to the caller, who may change them.
  if (Object.values(query).some((value) => typeof value !== 'string')) return query;
  const known = { read: undefined, write: undefined };
  const entry = { query, names: Object.keys(query), known };
  remembered.set(own, entry);
  return new KnownQueryObject(entry);
}

/**
 * Where to keep the parameters of a query; nothing for one that has not come before, or that
 * somebody has changed.
 */
export function knownQuery(query: Query): KnownQuery | undefined {
  return KnownQueryObject.knownOf(query);
}
