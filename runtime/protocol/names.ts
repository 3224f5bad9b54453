const letterOrDigit = /^[\p{L}\p{N}]$/u;

/**
 * Where the name that begins at `start` ends: names are made of letters and digits of any script, and underscores.
 * Answers `start` when no name begins there. Offsets count UTF-16 code units.
 */
export function nameEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    const width = nameCharacterWidth(text, at);
    if (width === 0) return at;
    at += width;
  }
}

/** Code units of the name character at `at`: 1 or 2, or 0 when there is none. */
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
