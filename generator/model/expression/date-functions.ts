import { sqlConstant } from '../sql-text.js';
import type { Node } from './ast.js';
import { NotPortable } from './not-portable.js';
import { asNumber, asText, integer, type Printed, real, text } from './printed.js';

type Print = (node: Node) => Printed;

interface Known {
  readonly least: number;
  readonly most: number;
  readonly print: (items: readonly Node[], print: Print) => Printed;
}

/**
 * The meaning of the letters of strftime: a pattern of PostgreSQL's to_char, or a computation from
 * the time.
 */
const letters: Readonly<Record<string, string | ((time: string) => string)>> = {
  d: 'DD',
  e: (time) => `lpad(extract(day FROM ${time})::integer::text, 2)`,
  f: 'SS.MS',
  F: 'YYYY-MM-DD',
  G: 'IYYY',
  g: 'IY',
  H: 'HH24',
  I: 'HH12',
  j: 'DDD',
  k: (time) => `lpad(extract(hour FROM ${time})::integer::text, 2)`,
  m: 'MM',
  M: 'MI',
  p: 'AM',
  P: 'am',
  R: 'HH24:MI',
  s: (time) => `floor(extract(epoch FROM ${time}))::bigint::text`,
  S: 'SS',
  T: 'HH24:MI:SS',
  u: (time) => `extract(isodow FROM ${time})::integer::text`,
  V: 'IW',
  w: (time) => `extract(dow FROM ${time})::integer::text`,
  Y: 'YYYY',
  '%': () => "'%'::text",
};

/** SQLite's functions for dates and times; a time is kept as a text, and so is what most of them yield. */
export const dateFunctions: Readonly<Record<string, Known>> = {
  date: formatted('%Y-%m-%d'),
  time: formatted('%H:%M:%S'),
  datetime: formatted('%Y-%m-%d %H:%M:%S'),
  julianday: onTime((time) => real(`drs_x_julian(${time})`)),
  unixepoch: onTime((time) => integer(`floor(extract(epoch FROM ${time}))::bigint`)),
  strftime: {
    least: 2,
    most: Infinity,
    print: ([format, ...items], print) => {
      if (format?.kind !== 'text') throw new NotPortable('the format of strftime is no plain text');
      return formatTime(format.value, timeOf(items, print));
    },
  },
};

/** Writes a time as strftime does. */
export function formatTime(format: string, time: string): Printed {
  const pieces: string[] = [];
  let pattern = '';
  const flush = (): void => {
    if (pattern !== '') pieces.push(`drs_x_format(${time}, ${sqlConstant(pattern)})`);
    pattern = '';
  };
  for (const [, letter, plain] of format.matchAll(/%(.?)|([^%]+)/gsu)) {
    if (plain !== undefined) {
      pattern += `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
      continue;
    }
    const meaning = letters[letter ?? ''];
    if (meaning === undefined) throw new NotPortable(`strftime writes %${letter ?? ''}`);
    if (typeof meaning === 'string') pattern += meaning;
    else {
      flush();
      pieces.push(meaning(time));
    }
  }
  flush();
  // A format without letters yields null for a null time, too.
  return text(pieces.length === 1 ? (pieces[0] ?? '') : `(${["''", ...pieces].join(' || ')})`);
}

/** A value as a time. */
export function asTime(value: Printed): string {
  if (value.kind === 'text' || value.kind === 'json') return `drs_x_time(${asText(value)})`;
  if (value.kind === 'null') return 'NULL::timestamp';
  return `drs_x_time(${asNumber(value).sql}::double precision)`;
}

function formatted(format: string): Known {
  return onTime((time) => formatTime(format, time));
}

function onTime(print: (time: string) => Printed): Known {
  return {
    least: 1,
    most: Infinity,
    print: (items, printItem) => print(timeOf(items, printItem)),
  };
}

/** A time and what is done to it, step by step. */
function timeOf([value, ...modifiers]: readonly Node[], print: Print): string {
  if (value === undefined) throw new NotPortable('it uses the current time');
  return modifiers.reduce(
    (time, modifier) => {
      if (modifier.kind !== 'text') {
        throw new NotPortable('a modifier of a time is no plain text');
      }
      return modified(time, modifier.value.trim().toLowerCase());
    },
    asTime(print(value)),
  );
}

function modified(time: string, modifier: string): string {
  const start = /^start of (day|month|year)$/.exec(modifier);
  if (start !== null) return `date_trunc('${start[1] ?? ''}', ${time})`;
  const moved = /^([+-]?\d+(?:\.\d+)?) *(second|minute|hour|day|month|year)s?$/.exec(modifier);
  const [, amount = '', unit = ''] = moved ?? [];
  if (moved === null) throw new NotPortable(`it modifies a time by ${JSON.stringify(modifier)}`);
  if (unit === 'month' || unit === 'year') {
    if (amount.includes('.')) throw new NotPortable(`it moves a time by a part of a ${unit}`);
    const months = Number(amount) * (unit === 'year' ? 12 : 1);
    return `drs_x_moved(${time}, ${months})`;
  }
  return `(${time} + interval '${amount.replace(/^\+/, '')} ${unit}')`;
}
