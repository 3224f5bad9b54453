import type { Store } from '../memory/store.js';
import { dataclassOf } from './request.js';

/**
 * An answer of the server with its addresses as the tests write them: the server decides which
 * characters of a key are percent-encoded, and how the digits of a number are written.
 */
export function comparableAnswer(store: Store, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => comparableAnswer(store, each));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, each]): [string, unknown] => {
    if (name === '__KEY' && typeof each === 'string') return [name, plainNumber(each)];
    const isAddress = name === '__ENTITYSET' || (name === 'uri' && Object.keys(value).length <= 2);
    if (isAddress && typeof each === 'string') return [name, plainAddress(store, each)];
    return [name, comparableAnswer(store, each)];
  });
  return Object.fromEntries(members);
}

function plainAddress(store: Store, text: string): string {
  const [, name, key, rest] = /^\/rest\/([^/(]+)\(([^()]*)\)((?:\/[^/]+)?)$/.exec(text) ?? [];
  if (name === undefined || key === undefined || rest === undefined) return text;
  const dataclass = dataclassOf(store, decodeURIComponent(name));
  const decoded = decodeURIComponent(key);
  const isQuoted = /^(["']).*\1$/s.test(decoded) && decoded.length > 1;
  const literal = isQuoted ? decoded.slice(1, -1) : decoded;
  const shown = store.key(dataclass).type === 'string' ? literal : plainNumber(literal);
  return `${dataclass.name} ${shown}${decodeURIComponent(rest)}`;
}

function plainNumber(text: string): string {
  // A UUID may have no letters either.
  return text.length < 32 && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)
    ? String(Number(text))
    : text;
}
