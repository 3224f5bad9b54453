/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header (RFC 9110, section 14). Several ranges, other units and what is malformed are passed over, as HTTP
 * allows: the whole is sent.
 * @returns `undefined` for the whole, `'unsatisfiable'` for a range that holds nothing
 */
export function readRange(
  header: string | undefined,
  length: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] =
    /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const count = Math.min(Number(to), length);
    return count === 0 ? 'unsatisfiable' : { start: length - count, end: length };
  }
  const start = Number(from);
  if (to !== '' && Number(to) < start) return undefined;
  const end = to === '' ? length : Math.min(Number(to) + 1, length);
  return start >= length ? 'unsatisfiable' : { start, end };
}

/** Whether an `If-None-Match` header names an entity tag, weakly compared. */
export function namesTag(header: string | undefined, tag: string): boolean {
  return (header ?? '').split(',').some((each) => {
    const name = each.trim();
    return name === '*' || name.replace(/^W\//, '') === tag;
  });
}
