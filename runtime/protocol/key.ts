import type { StorageType } from './storage-type.js';
import { refuse } from './errors.js';
import { integerFromText, numberFromText } from './numbers.js';
import { normaliseUuid } from './uuid.js';

/** The literal of a key clause, as it stands in a URL. */
interface KeyText {
  /** The text of the key, without its quotes. */
  readonly text: string;
  readonly quoted: boolean;
}

/**
 * Reads what follows the `(` of `Employee(12)`, `Employee("AB12")` or `Employee:email('a@b.c')`
 * (protocol P1.3): the last character must be the closing parenthesis, and one pair of matching
 * quotes is removed. The text between the quotes is the key, so a quoted key may contain
 * parentheses and quotes.
 *
 * @param clause percent-decoded, such as `"AB12")`
 * @throws RequestError 400 with 1806 if the parenthesis or the key is missing, 1808 or 1809 if a
 * quote is not closed
 */
export function readKeyClause(clause: string): KeyText {
  const end = clause.length - 1;
  if (clause.charCodeAt(end) !== 0x29) {
    throw refuse('malformedUrl', 'The key in the URL lacks its closing parenthesis.');
  }
  const first = clause.charCodeAt(0);
  if (first !== 0x22 && first !== 0x27) {
    if (end === 0) throw refuse('malformedUrl', 'The parentheses in the URL hold no key.');
    return { text: clause.slice(0, end), quoted: false };
  }
  if (end < 2 || clause.charCodeAt(end - 1) !== first) throw missingQuote(first);
  return { text: clause.slice(1, end - 1), quoted: true };
}

/**
 * The value of a primary key, or of a unique attribute, from its text in a URL or a `__KEY`. `undefined` means that no
 * entity can have it, which is answered like a key that does not exist (404).
 *
 * Integers are digits with an optional minus, exact to 2^53; `007` is 7. Numbers are decimal, with an optional exponent.
 */
export function decodeKey(type: StorageType, text: string): string | number | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'uuid':
      return normaliseUuid(text);
    case 'integer':
    case 'duration':
      return integerFromText(text);
    case 'number':
      return finiteNumber(text);
    case 'decimal':
    case 'boolean':
    case 'date':
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      return undefined;
  }
}

function finiteNumber(text: string): number | undefined {
  if (text.startsWith('+')) return undefined;
  const value = numberFromText(text);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

function missingQuote(quote: number): Error {
  return quote === 0x22
    ? refuse('missingDoubleQuote', 'The key in the URL lacks its closing double quote.')
    : refuse('missingSingleQuote', 'The key in the URL lacks its closing single quote.');
}

/** The address of an entity by an attribute's value: `<attribute>(<value>)` behind the dataclass and a colon. */
export interface Lookup {
  readonly name: string;
  readonly text: string;
}

/** @throws RequestError 400 with 1806 if there are no parentheses */
export function readLookup(clause: string): Lookup {
  const open = clause.indexOf('(');
  if (open < 1) throw refuse('malformedUrl', 'Expected <dataClass>:<attribute>(<value>).');
  return { name: clause.slice(0, open), text: readKeyClause(clause.slice(open + 1)).text };
}

/**
 * A text key as it is written between the parentheses of a URI: percent-encoded where a URI or the
 * parentheses demand it, and in quotes if it begins with one.
 */
export function uriKey(key: string): string {
  const encoded = encodeURIComponent(key).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return key === '' || key.startsWith('"') || key.startsWith("'") ? `%22${encoded}%22` : encoded;
}
