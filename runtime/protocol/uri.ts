/**
 * A text key as the inside of the parentheses of a URI: percent-encoded where a URI or the parentheses demand it, and in
 * quotes where it could be taken for a quoted one.
 */
export function uriKey(key: string): string {
  const encoded = encodeURIComponent(key).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const isQuoted = /^(["']).*\1$/s.test(key);
  return isQuoted || key === '' ? `%22${encoded}%22` : encoded;
}
