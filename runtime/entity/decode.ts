import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Fold } from '../protocol/fold.js';
import { decodeKey } from '../protocol/key.js';
import type { Author, Body, Decoded, Existing } from './decoded.js';
import { Decoding } from './decoding.js';
import { ruledAttributes } from './ruled-attributes.js';

/** The key that a `__KEY` stands for; `undefined` for what can be none. */
export function keyOf(dataclass: Dataclass, json: unknown): string | number | undefined {
  if (typeof json !== 'string' && typeof json !== 'number') return undefined;
  return decodeKey(dataclass.key.type, String(json));
}

/**
 * Makes the stored values of a new entity from an object of a body: given values, then defaults and generated ones, checked
 * against every rule. All of an entity's errors are told at once (protocol decision 26, section 11).
 */
export function decodeNewEntity(dataclass: Dataclass, body: Body, author: Author): Decoded {
  const decoding = new Decoding(dataclass, author);
  decoding.giveAll(body);
  const { __KEY: key } = body;
  if (key !== undefined && key !== null) decoding.giveNewKey(key);
  decoding.complete();
  return decoding;
}

/**
 * Makes the stored values of the attributes that a body sends for an entity that exists; others stay as they are
 * (specification, "$method=update rules").
 * @param key of the entity; the body may repeat it, and cannot change it
 */
export function decodeChanges(
  dataclass: Dataclass,
  body: Body,
  key: string | number,
  fold: Fold,
  author: Author,
): Decoded {
  const decoding = new Decoding(dataclass, author, { key, fold });
  decoding.giveAll(body);
  for (const attribute of ruledAttributes(dataclass)) decoding.checkRules(attribute);
  return decoding;
}

/**
 * Reads what a body says of an entity, and nothing else: whether the entity may be stored with it is told when its events have
 * had their say.
 * @param existing the entity that is changed; none for a new one
 */
export function decodeReceived(
  dataclass: Dataclass,
  body: Body,
  existing: Existing | undefined,
): Decoded {
  const decoding = new Decoding(dataclass, { writer: 'client' }, existing);
  decoding.giveAll(body);
  const { __KEY: key } = body;
  if (existing === undefined && key !== undefined && key !== null) decoding.giveNewKey(key);
  return decoding;
}
