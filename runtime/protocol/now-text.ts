let moment = Number.NaN;
let text = '';

/** This moment as it is stored, see `instantFromText`. Many changes share a millisecond, and its text costs half a microsecond. */
export function nowText(): string {
  const now = Date.now();
  if (now !== moment) {
    moment = now;
    text = new Date(now).toISOString();
  }
  return text;
}
