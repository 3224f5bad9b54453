import { digitsEnd } from './numbers.js';

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const earliest = -62_167_219_200_000;
const latest = 253_402_300_799_999;

/**
 * A moment as it is stored, `YYYY-MM-DDTHH:MM:SS.sssZ` (protocol P4.4), from ISO 8601: a date alone
 * (midnight UTC), or a date, `T` or a space, and a time, with or without seconds, fraction (cut to the
 * millisecond) and zone (`Z`, `+02:00`, `+0200`; none is UTC). A `+` that was not encoded in an
 * address arrives as a space, so that is one, too. Years are 0000 to 9999, in UTC as well. Returns
 * `undefined` for anything else, such as 30 February.
 */
export function instantFromText(text: string): string | undefined {
  if (!isDay(text)) return undefined;
  if (text.length === 10) return `${text}T00:00:00.000Z`;
  const time = timeOfDay(text);
  if (time === undefined) return undefined;
  if (time.offsetMinutes === 0) return `${text.slice(0, 10)}T${time.text}Z`;
  const local = Date.parse(`${text.slice(0, 10)}T${time.text}Z`);
  const moment = local - time.offsetMinutes * 60_000;
  return moment < earliest || moment > latest ? undefined : new Date(moment).toISOString();
}

/**
 * A day as it is stored, `YYYY-MM-DD` (protocol P4.5), from that form, from ISO 8601 with a time
 * (time and zone are dropped, the day stays as written), or from `d!m!yyyy`. Returns `undefined`
 * for anything else.
 */
export function dayFromText(text: string): string | undefined {
  if (isDay(text)) {
    if (text.length === 10) return text;
    return timeOfDay(text) === undefined ? undefined : text.slice(0, 10);
  }
  return bangDay(text);
}

/** Whether the text begins with a day of the calendar, written `YYYY-MM-DD`. */
function isDay(text: string): boolean {
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return false;
  if (digitsEnd(text, 0) !== 4) return false;
  return exists(Number(text.slice(0, 4)), twoDigits(text, 5), twoDigits(text, 8));
}

function exists(year: number, month: number, day: number): boolean {
  const length = monthLengths[month - 1];
  if (length === undefined || !(day >= 1)) return false;
  if (month !== 2) return day <= length;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (isLeap ? 29 : 28);
}

/** `NaN` if there are no two digits at `at`. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

interface TimeOfDay {
  /** `HH:MM:SS.sss`. */
  readonly text: string;
  readonly offsetMinutes: number;
}

/** The rest of the text behind the day. */
function timeOfDay(text: string): TimeOfDay | undefined {
  const separator = text.charCodeAt(10);
  if ((separator !== 0x54 && separator !== 0x20) || text.charCodeAt(13) !== 0x3a) return undefined;
  if (!(twoDigits(text, 11) < 24 && twoDigits(text, 14) < 60)) return undefined;
  let end = 16;
  let seconds = '00';
  let fraction = '';
  if (text.charCodeAt(16) === 0x3a) {
    if (!(twoDigits(text, 17) < 60)) return undefined;
    seconds = text.slice(17, 19);
    end = 19;
    if (text.charCodeAt(19) === 0x2e) {
      end = digitsEnd(text, 20);
      if (end === 20) return undefined;
      fraction = text.slice(20, Math.min(end, 23));
    }
  }
  const offsetMinutes = zone(text, end);
  if (offsetMinutes === undefined) return undefined;
  return { text: `${text.slice(11, 16)}:${seconds}.${fraction.padEnd(3, '0')}`, offsetMinutes };
}

/** Minutes east of UTC, read from the rest of the text at `at`. */
function zone(text: string, at: number): number | undefined {
  if (at === text.length) return 0;
  const sign = text.charCodeAt(at);
  if (sign === 0x5a) return at + 1 === text.length ? 0 : undefined;
  if (sign !== 0x2b && sign !== 0x2d && sign !== 0x20) return undefined;
  const minutesAt = text.charCodeAt(at + 3) === 0x3a ? at + 4 : at + 3;
  const hours = twoDigits(text, at + 1);
  const minutes = twoDigits(text, minutesAt);
  if (!(hours < 24 && minutes < 60) || minutesAt + 2 !== text.length) return undefined;
  return (sign === 0x2d ? -1 : 1) * (hours * 60 + minutes);
}

/** `d!m!yyyy`, with or without leading zeros in day and month. */
function bangDay(text: string): string | undefined {
  if (text.length < 8 || text.length > 10) return undefined;
  const dayEnd = digitsEnd(text, 0);
  const monthEnd = digitsEnd(text, dayEnd + 1);
  if (text.charCodeAt(dayEnd) !== 0x21 || text.charCodeAt(monthEnd) !== 0x21) return undefined;
  if (dayEnd > 2 || monthEnd - dayEnd > 3 || digitsEnd(text, monthEnd + 1) !== text.length) {
    return undefined;
  }
  const year = text.slice(monthEnd + 1);
  const month = text.slice(dayEnd + 1, monthEnd);
  const day = text.slice(0, dayEnd);
  if (year.length !== 4 || !exists(Number(year), Number(month), Number(day))) return undefined;
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

/** This moment as it is stored, see `instantFromText`. */
export function nowText(): string {
  const now = Date.now();
  // Many changes have the same moment, and to write one takes as long as a statement.
  if (now !== lastMoment) {
    lastMoment = now;
    lastText = new Date(now).toISOString();
  }
  return lastText;
}

let lastMoment = NaN;
let lastText = '';
