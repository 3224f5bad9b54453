/** Fewer digits always make an integer that a double holds exactly. */
const manyDigits = /\d{16}/;

/** The strings and the numbers of a JSON text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const integer = /^-?\d{16,}$/;

/**
 * The first integer of a JSON text that reading it as a double would change (protocol decision 9: never rounded).
 * @param text that `JSON.parse` takes
 */
export function firstRoundedInteger(text: string): string | undefined {
  if (!manyDigits.test(text)) return undefined;
  for (const [token] of text.matchAll(tokens)) {
    if (!integer.test(token)) continue;
    const value = Number(token);
    // What a client writes for a double that it holds may have other digits than the double, and is read as the same one.
    if (String(value) === token) continue;
    if (!Number.isFinite(value) || BigInt(value) !== BigInt(token)) return token;
  }
  return undefined;
}
