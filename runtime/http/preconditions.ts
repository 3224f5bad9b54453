import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { refuse } from '../protocol/errors.js';
import { integerFromText } from '../protocol/numbers.js';
import type { TaggedRead } from '../query/tags.js';
import type { Precondition } from '../write/sent-body.js';

/**
 * Reads `If-Match`, another spelling of `__STAMP` (protocol P7.36).
 * @throws RequestError 400 with 1806 for a weak tag, several tags and anything else that is no stamp
 */
export function readIfMatch({ 'if-match': text }: IncomingHttpHeaders): Precondition | undefined {
  if (text === undefined) return undefined;
  const tag = text.trim();
  if (tag === '*') return 'exists';
  const stamp = integerFromText(/^"(\d+)"$/.exec(tag)?.[1] ?? '');
  if (stamp !== undefined) return stamp;
  throw refuse(
    'malformedUrl',
    'If-Match must be the stamp of the entity in double quotes, such as "3", or *: one tag, without W/.',
  );
}

/** @throws RequestError 400 with 1806 if a request has `If-Match` that changes any number of entities */
export function refuseIfMatch({ 'if-match': text }: IncomingHttpHeaders): void {
  if (text === undefined) return;
  throw refuse(
    'malformedUrl',
    'If-Match names the stamp of one entity, and does not apply to several.',
  );
}

/** A request that reads; `undefined` for another one (protocol P1.13). */
export function taggedRead({
  method,
  url = '',
  headers,
}: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): TaggedRead | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  return { address: url, known: headers['if-none-match'] ?? '' };
}
