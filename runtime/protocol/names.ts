const letterOrDigit = /^[\p{L}\p{N}]$/u;

/**
 * The end of the name that begins at `start`: names consist of letters and digits of any script,
 * and underscores. Returns `start` if no name begins there. Offsets count UTF-16 code units.
 */
export function nameEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const width = nameCharacterWidth(text, at);
    if (width === 0) return at;
    at += width;
  }
}

/** Code units of the name character at `at`: 1 or 2, or 0 if there is none. */
export function nameCharacterWidth(text: string, at: number): 0 | 1 | 2 {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) {
    const isAscii =
      (unit >= 0x61 && unit <= 0x7a) ||
      (unit >= 0x41 && unit <= 0x5a) ||
      (unit >= 0x30 && unit <= 0x39) ||
      unit === 0x5f;
    return isAscii ? 1 : 0;
  }
  const point = text.codePointAt(at);
  if (point === undefined || !letterOrDigit.test(String.fromCodePoint(point))) return 0;
  return point > 0xffff ? 2 : 1;
}

const longestQuotation = 24;

/** `found "foo"`, the name or the character at `offset`, or `found the end`: the last part of a message. */
export function found(text: string, offset: number): string {
  const point = text.codePointAt(offset);
  if (point === undefined) return 'found the end';
  const end =
    nameCharacterWidth(text, offset) === 0
      ? offset + String.fromCodePoint(point).length
      : nameEnd(text, offset);
  return `found ${JSON.stringify(shortened(text.slice(offset, end)))}`;
}

/** At most that many code units of a text that a client sent, in whole characters. */
export function shortened(text: string): string {
  if (text.length <= longestQuotation) return text;
  return `${Array.from(text.slice(0, longestQuotation + 1))
    .slice(0, -1)
    .join('')}...`;
}

const longestName = 40;

/**
 * The candidate that a misspelt name most likely means, if one is near: at most two edits away,
 * ignoring case.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined;
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let least = Math.min(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

/** The number of letters to add, drop, change or swap with the next one. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
