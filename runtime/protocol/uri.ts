/**
 * A text key as the inside of the parentheses of a URI: percent-encoded where a URI or the parentheses demand it, and in
 * quotes where it begins with one.
 */
export function uriKey(key: string): string {
  const encoded = encodeURIComponent(key).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return key === '' || key.startsWith('"') || key.startsWith("'") ? `%22${encoded}%22` : encoded;
}
