let moment = Number.NaN;
let text = '';

/** The second that `moment` is in, and how its text begins: `2026-11-22T04:10:07.` */
let second = Number.NaN;
let beginning = '';

/** This moment as it is stored, see `instantFromText`. Many changes share a millisecond, and more of them a second. */
export function nowText(): string {
  const now = Date.now();
  if (now === moment) return text;
  if (!(now >= second && now < second + 1000)) {
    second = Math.floor(now / 1000) * 1000;
    beginning = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  moment = now;
  text = `${beginning}${String(now - second).padStart(3, '0')}Z`;
  return text;
}
