const dayForm = /^(\d{4})-(\d{2})-(\d{2})$/;
const momentForm =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A day as the server stores it, if the text is a day of the calendar. */
export function dayOf(text: string): string | undefined {
  const match = dayForm.exec(text);
  if (match === null) return undefined;
  const moment = new Date(`${text}T00:00:00.000Z`);
  // Date turns the 30th of February into a day of March instead of refusing it.
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text)
    ? text
    : undefined;
}

/** A moment as the server stores it, in UTC to the millisecond; a day alone is its midnight. */
export function momentOf(text: string): string | undefined {
  const match = momentForm.exec(text);
  const [, day = '', time = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match ?? [];
  if (match === null || dayOf(day) === undefined || time.startsWith('24')) return undefined;
  const moment = new Date(`${day}T${time}:${seconds}.${fraction.padEnd(3, '0')}${zone}`);
  if (Number.isNaN(moment.getTime())) return undefined;
  const stored = moment.toISOString();
  return stored.length === 24 ? stored : undefined;
}
