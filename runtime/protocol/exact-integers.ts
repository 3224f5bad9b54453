/** Fewer digits always make an integer that a double holds exactly. */
const manyDigits = 16;

/** The strings and the numbers of a JSON text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const integer = /^-?\d{16,}$/;

/**
 * The first integer of a JSON text that reading it as a double would change (protocol decision 9: never rounded).
 * @param text that `JSON.parse` takes
 */
export function firstRoundedInteger(text: string): string | undefined {
  if (!hasManyDigits(text)) return undefined;
  for (const [token] of text.matchAll(tokens)) {
    if (!integer.test(token)) continue;
    const value = Number(token);
    // What a client writes for a double that it holds may have other digits than the double, and is read as the same one.
    if (String(value) === token) continue;
    if (!Number.isFinite(value) || BigInt(value) !== BigInt(token)) return token;
  }
  return undefined;
}

/** So many digits in a row take up one of the places that are so far apart: most of the text needs no look. */
function hasManyDigits(text: string): boolean {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigit(text, at)) continue;
    let start = at;
    while (isDigit(text, start - 1)) start -= 1;
    let end = at + 1;
    while (end - start < manyDigits && isDigit(text, end)) end += 1;
    if (end - start >= manyDigits) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}
