import type { Dataclass } from '../dataclass/dataclasses.js';
import { integerFromText } from '../protocol/numbers.js';
import { keyOf } from './decode.js';
import type { Body } from './decoded.js';
import type { Refusal, Refusals } from './refusals.js';

/** Which entity a body speaks of, and as of when (protocol section 11.2). */
export interface Address {
  /** `undefined` for a new entity whose key the body does not name by `__KEY`. */
  readonly key: string | number | undefined;
  /** `undefined` where none was sent: an entity that exists is never overwritten then. */
  readonly stamp: number | undefined;
}

export function addressOf(dataclass: Dataclass, refusals: Refusals, body: Body): Address | Refusal {
  const { __KEY: sentKey = null, __STAMP: sentStamp = null } = body;
  if (sentStamp === null) return { key: keyOf(dataclass, sentKey), stamp: undefined };
  if (sentKey === null) return refusals.stampWithoutKey();
  const stamp = typeof sentStamp === 'string' ? integerFromText(sentStamp) : sentStamp;
  if (!Number.isSafeInteger(stamp)) return refusals.badStamp();
  const key = keyOf(dataclass, sentKey);
  return key === undefined ? refusals.unknownKey(sentKey) : { key, stamp: Number(stamp) };
}
