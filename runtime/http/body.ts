import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { isTooDeep, maxRequestDepth, withRounded } from '../protocol/json-problem.js';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * A request's body as JSON, whatever its content type says (protocol P1.9); see {@link withRounded}.
 * @param numbers `all` if lists hold numbers whose digits count
 * @param secretMessage replaces the parser's message, which repeats a part of the body
 * @returns `undefined` for an empty body
 * @throws RequestError 400 if it is not JSON in UTF-8, nests too deeply, or holds an integer that
 * would be rounded
 */
export function readJson(
  body: unknown,
  contentType: string | undefined,
  numbers: 'members' | 'all' = 'members',
  secretMessage?: string,
): unknown {
  if (!(body instanceof Uint8Array) || body.length === 0) return undefined;
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    throw refuse('badBody', 'The body is not UTF-8.');
  }
  // One client percent-encodes these five characters of a JSON text that it labels as a form.
  if (contentType?.startsWith('application/x-www-form-urlencoded') === true) {
    text = text.replace(/%(?:21|27|28|29|2A)/gi, (code) => decodeURIComponent(code));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') return undefined;
    throw refuse('badBody', secretMessage ?? `The body is not JSON: ${(error as Error).message}`);
  }
  if (isTooDeep(text)) {
    throw refuse('badBody', `The body must not nest more than ${maxRequestDepth} levels.`);
  }
  return withRounded(text, value, numbers, (integer) => {
    const shown = secretMessage === undefined ? ` ${shortened(integer)}` : '';
    throw refuse(
      'badBody',
      `The number${shown} cannot be kept exactly: whole numbers beyond 2^53 are sent as texts.`,
    );
  });
}
